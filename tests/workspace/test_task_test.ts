import assert from "node:assert/strict";
import denoJson from "../../deno.json" with { type: "json" };

/** Folders whose tests run one after the other are left out of one command and make another. */
Deno.test({
  name: "task test runs once each folder that its parallel command leaves out",
  fn: () => {
    const commands = denoJson.tasks.test.split(/ && | & /)
      .filter((command) => command.startsWith("deno test "))
      .map((command) => command.replace(/\)$/, "").split(" "));
    const [parallel = [], alone = [], ...more] = commands;
    assert.deepEqual(more, []);
    assert.ok(parallel.includes("--parallel") && !alone.includes("--parallel"));
    const ignored = parallel.find((word) => word.startsWith("--ignore="))?.split(/[=,]/).slice(1);
    assert.deepEqual(ignored, alone.filter((word) => word.startsWith("tests/load")));
    assert.deepEqual(foldersOf(alone), ignored);
    assert.ok(foldersOf(parallel).includes("tests"));
  },
});

/** The paths that a command names behind its options. */
function foldersOf(words: readonly string[]): readonly string[] {
  const last = words.findLastIndex((word) => word.startsWith("-"));
  return words.slice(last + 1);
}
