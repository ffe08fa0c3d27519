import assert from "node:assert/strict";
import { processArguments, workspacePath } from "../../cli/permissions.ts";
import { ROLES } from "../../cli/role_places.ts";

const DATA = "/var/lib/svc";
const SOURCE = "/opt/svc";
const PROGRAM = "/usr/local/bin/deno";

interface Unit {
  /** Values of each key, in their order. */
  readonly values: (key: string) => readonly string[];
}

async function readUnit(role: string): Promise<Unit> {
  const text = await Deno.readTextFile(workspacePath(`deploy/systemd/svc-${role}.service`));
  const lines = text.replaceAll(/\\\n\s*/g, "").split("\n");
  return {
    values: (key) =>
      lines.filter((line) => line.startsWith(`${key}=`)).map((line) => line.slice(key.length + 1)),
  };
}

function environmentOf(unit: Unit): Record<string, string> {
  const pairs = unit.values("Environment").flatMap((line) => line.split(" "));
  return Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
}

for (const role of ROLES) {
  Deno.test({
    name: `svc-${role}.service starts the role with the permissions of its table`,
    fn: async () => {
      const unit = await readUnit(role);
      const [program, ...words] = (unit.values("ExecStart")[0] ?? "").split(" ");
      const root = workspacePath(".");
      const expected = processArguments(role, DATA, [], environmentOf(unit))
        .map((word) => word.replaceAll(root, SOURCE).replaceAll(Deno.execPath(), PROGRAM));
      assert.equal(program, PROGRAM);
      assert.deepEqual(words, expected);
    },
  });

  Deno.test({
    name: `svc-${role}.service lets it write what Deno does, or a folder around it`,
    fn: async () => {
      const unit = await readUnit(role);
      const [exec = ""] = unit.values("ExecStart");
      const written = /--allow-write=(\S+)/.exec(exec)?.[1]?.split(",") ?? [];
      const mounted = unit.values("ReadWritePaths").flatMap((line) => line.split(" "));
      assert.ok(written.length > 0);
      for (const path of written) {
        assert.ok(mounted.some((folder) => `${path}/`.startsWith(`${folder}/`)), path);
      }
      for (const folder of mounted) {
        assert.ok(written.some((path) => `${path}/`.startsWith(`${folder}/`)), folder);
      }
    },
  });

  Deno.test({
    name: `svc-${role}.service has a user of its own, a read-only system and a filter of calls`,
    fn: async () => {
      const unit = await readUnit(role);
      assert.deepEqual(unit.values("User"), [`svc-${role}`]);
      assert.deepEqual(unit.values("ProtectSystem"), ["strict"]);
      assert.deepEqual(unit.values("SystemCallFilter"), ["@system-service", "~@privileged"]);
      assert.deepEqual(unit.values("NoNewPrivileges"), ["yes"]);
      assert.deepEqual(unit.values("CapabilityBoundingSet"), [""]);
    },
  });
}

Deno.test({
  name: "tmpfiles.conf makes each folder that a unit mounts to write",
  fn: async () => {
    const text = await Deno.readTextFile(workspacePath("deploy/systemd/tmpfiles.conf"));
    const made = text.split("\n").filter((line) => line.startsWith("d "))
      .map((line) => line.split(/\s+/)[1]);
    for (const role of ROLES) {
      const mounted = (await readUnit(role)).values("ReadWritePaths").join(" ").split(" ");
      for (const folder of mounted) assert.ok(made.includes(folder), folder);
    }
  },
});
