import assert from "node:assert/strict";
import denoJson from "../../deno.json" with { type: "json" };
import { readSources } from "./sources.ts";

/** Runs alone, one file after the other: its tests are about load and times. */
const ALONE = "tests/load";
/** Needs programs of other languages that `.ci/run` obtains: a task of its own. */
const APART = "tests/drivers";

Deno.test({
  name: "task test runs each folder of tests once, and those of load alone, of drivers apart",
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
      .filter((file) => !file.startsWith(`${APART}/`))
      .map((file) => file.startsWith("tests/") ? file.split("/", 2).join("/") : file.split("/")[0]);
    assert.deepEqual(foldersOf(denoJson.tasks.drivers.split(" ")), [APART]);
    assert.deepEqual(foldersOf(parallel).toSorted(), [...new Set(folders)].toSorted());
  },
});

/** The paths that a command names behind its options. */
function foldersOf(words: readonly string[]): readonly string[] {
  const last = words.findLastIndex((word) => word.startsWith("-"));
  return words.slice(last + 1);
}
