import assert from "node:assert/strict";
import denoJson from "../../deno.json" with { type: "json" };
import { readSources } from "./sources.ts";

/** Runs alone, one file after the other: its tests are about load and times. */
const ALONE = "tests/load";
/** Folders that need programs of other languages: tasks of their own. `.ci/run` runs the first. */
const APART: Readonly<Record<string, readonly string[]>> = {
  "tests/drivers": foldersOf(denoJson.tasks.drivers.split(" ")),
  "tests/engines_jvm": foldersOf(denoJson.tasks.engines.split(" ")),
};

Deno.test({
  name:
    "task test runs each folder of tests once, those of load alone, those of other programs apart",
  fn: async () => {
    const commands = denoJson.tasks.test.split(/ && | & /)
      .filter((command) => command.startsWith("deno test "))
      .map((command) => command.replace(/\)$/, "").split(" "));
    const [parallel = [], alone = [], ...more] = commands;
    assert.deepEqual(more, []);
    assert.ok(parallel.includes("--parallel") && !alone.includes("--parallel"));
    assert.deepEqual(foldersOf(alone), [ALONE]);
    const folders = [...(await readSources()).keys()]
      .filter((file) => /_test\.tsx?$/.test(file) && !file.startsWith(`${ALONE}/`))
      .filter((file) => !Object.keys(APART).some((folder) => file.startsWith(`${folder}/`)))
      .map((file) => file.startsWith("tests/") ? file.split("/", 2).join("/") : file.split("/")[0]);
    for (const [folder, ran] of Object.entries(APART)) assert.ok(ran.includes(folder), folder);
    assert.deepEqual(foldersTogether(parallel).toSorted(), [...new Set(folders)].toSorted());
  },
});

/** The folders that a command gives to `tests/together.ts`. */
function foldersTogether(words: readonly string[]): readonly string[] {
  const given = words.slice(words.indexOf("together") + 1);
  return given.filter((word) => word !== "--").map((word) => word.replace(/\)$/, ""));
}

/** The paths that a command names behind its options. */
function foldersOf(words: readonly string[]): readonly string[] {
  const last = words.findLastIndex((word) => word.startsWith("-"));
  return words.slice(last + 1);
}
