import assert from "node:assert/strict";
import denoJson from "../../deno.json" with { type: "json" };
import { readSources } from "./sources.ts";

/** Runs alone, one file after the other: its tests are about load and times. */
const ALONE = "tests/load";
/** Folders that need programs of other languages: tasks of their own. `.ci/run` runs the first. */
const APART: Readonly<Record<string, readonly string[]>> = {
  "tests/drivers": foldersOf(denoJson.tasks.drivers),
  "tests/engines_jvm": foldersOf(denoJson.tasks.engines),
};

Deno.test({
  name: "each test file is run once: by task test, by task test:long, or by a task of its folder",
  fn: async () => {
    const short = commandsOf(denoJson.tasks.test);
    const long = commandsOf(denoJson.tasks["test:long"]);
    assert.deepEqual([...short, ...long].map((command) => command.includes("--parallel")), [
      ...[true, true, false],
    ]);
    assert.deepEqual(foldersOf(long[1] ?? ""), [ALONE]);
    for (const [folder, ran] of Object.entries(APART)) assert.ok(ran.includes(folder), folder);
    const runs = [...[...short, ...long].flatMap(foldersOf), ...Object.keys(APART)];
    const files = [...(await readSources()).keys()].filter((file) => /_test\.tsx?$/.test(file));
    const wrong = files.filter((file) =>
      runs.filter((folder) => file.startsWith(`${folder}/`)).length !== 1
    );
    assert.deepEqual(wrong, []);
    const idle = runs.filter((folder) => !files.some((file) => file.startsWith(`${folder}/`)));
    assert.deepEqual(idle, [], "these hold no tests");
  },
});

/** How variables are called that say how many random cases a test has. */
const SIZE = /"(SVC_\w+_(?:FAULTS|FLIPS|HOURS|KILLS|ROUNDS|RUNS|SEEDS|STATEMENTS))"/g;

Deno.test({
  name: "task nightly sets each size of a random test, and nothing that no test reads",
  fn: async () => {
    const [settings = "", ...tasks] = denoJson.tasks.nightly.split(" && ");
    assert.deepEqual(tasks, ["deno task test", "deno task test:long"]);
    const [exported, ...assignments] = settings.split(" ");
    assert.equal(exported, "export");
    const names = assignments.map((assignment) => assignment.split("=", 1)[0] ?? "");
    const texts = [...(await readSources()).values()];
    assert.deepEqual(names.filter((name) => !texts.some((text) => text.includes(`"${name}"`))), []);
    const sizes = texts.flatMap((text) => [...text.matchAll(SIZE)].map(([, name = ""]) => name));
    assert.deepEqual(sizes.filter((size) => !names.includes(size)), []);
  },
});

/** The commands of a task that run tests. */
function commandsOf(task: string): readonly string[] {
  return task.split(/ && | & /).filter((command) => /\bdeno test /.test(command));
}

/** The folders that a command names, by itself or to `tests/together.ts`. */
function foldersOf(command: string): readonly string[] {
  const words = command.replaceAll(/\$\(deno task --quiet jobs\)|[()]/g, "").split(" ");
  const last = words.findLastIndex((word) => word === "together" || word.startsWith("-"));
  return words.slice(last + 1).map((word) => word.split("=", 1)[0] ?? "");
}
