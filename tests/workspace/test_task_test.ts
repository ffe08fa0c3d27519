import assert from "node:assert/strict";
import denoJson from "../../deno.json" with { type: "json" };

/**
 * Files that are run beside each other, and the rest of their folder, are two commands of the task.
 */
Deno.test({
  name: "task test runs once each folder that its last command leaves out",
  fn: () => {
    const commands = denoJson.tasks.test.split(" && ");
    const rest = commands.at(-1)?.split(" ") ?? [];
    const ignored = rest.find((word) => word.startsWith("--ignore="))?.slice("--ignore=".length);
    const run = commands.slice(0, -1).flatMap((command) => command.split(" "));
    assert.deepEqual(
      ignored?.split(","),
      run.filter((word) => /^tests\/(?!deno\.json$)/.test(word)),
    );
  },
});
