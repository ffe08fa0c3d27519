import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../cli/commands.ts";
import { workspacePath } from "../../cli/permissions.ts";
import { OPTIONS as COMPACTOR } from "../../compactor/mod.ts";
import { OPTIONS as INGEST } from "../../ingest/mod.ts";
import { OPTIONS as QUERY } from "../../query/mod.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { unknownVariables } from "../../shared/config/unknown_variables.ts";
import { VARIABLES } from "../../shared/config/variables.ts";

function variablesOf(table: OptionTable): string[] {
  return Object.values(table).flatMap(({ env }) => env ?? []);
}

Deno.test({
  name: "VARIABLES are the variables of all roles and commands, in order",
  fn: async () => {
    const commands = await Promise.all(COMMANDS.map((entry) => entry.load()));
    const tables = [INGEST, COMPACTOR, QUERY, ...commands.map(({ options }) => options)];
    const names = new Set(tables.flatMap(variablesOf));
    assert.deepEqual(VARIABLES, [...names].sort());
  },
});

Deno.test({
  name: "no variable that the files of deploy/ name is taken for a misspelt one",
  fn: async () => {
    const named = new Set<string>();
    for await (const file of filesBelow(workspacePath("deploy"))) {
      const text = await Deno.readTextFile(file);
      for (const [name] of text.matchAll(/\bSVC_[A-Z0-9_]+\b/g)) named.add(name);
    }
    assert.ok(named.has("SVC_DASHBOARDS"));
    assert.deepEqual(unknownVariables(named), []);
  },
});

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* filesBelow(join(folder, name));
    else yield join(folder, name);
  }
}

const decoder = new TextDecoder();

Deno.test({
  name: "check_variables.ts names what no option reads and what is nearest, and no value",
  fn: async () => {
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "--no-prompt", "--allow-env"],
        workspacePath("shared/config/check_variables.ts"),
      ],
      env: { SVC_QUERY_TOKEN: "hidden", SVC_QUERY_TOKENS: "hidden" },
      stdout: "null",
    }).output();
    assert.equal(code, 0);
    assert.equal(
      decoder.decode(stderr),
      "The variable SVC_QUERY_TOKEN is set, and no option reads it: did you mean SVC_QUERY_TOKENS?\n",
    );
  },
});

Deno.test({
  name: "check_variables.ts runs before each role, by its task and by its unit of systemd",
  fn: async () => {
    const program = "shared/config/check_variables.ts";
    const denoJson = JSON.parse(await Deno.readTextFile(workspacePath("deno.json")));
    for (const role of ["ingest", "compactor", "query"]) {
      const unit = await Deno.readTextFile(workspacePath(`deploy/systemd/svc-${role}.service`));
      assert.match(
        unit,
        new RegExp(`^ExecStartPre=-\\S+/deno run .*--allow-env \\S+/${program}$`, "m"),
      );
      const words = denoJson.tasks[role].split(" ");
      const [checked, started] = [program, `${role}/main.ts`].map((word) => words.indexOf(word));
      assert.ok(0 < checked && checked < started, denoJson.tasks[role]);
    }
  },
});
