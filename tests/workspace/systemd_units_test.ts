import assert from "node:assert/strict";
import { join } from "node:path";
import { processArguments, workspacePath } from "../../cli/permissions.ts";
import { ROLES } from "../../cli/role_places.ts";
import { pageBlocks } from "../docs/page_blocks.ts";

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

/** What the page's commands call that a test may not: each notes its words, and does no more. */
const PROGRAMS = ["git", "npx", "systemd-sysusers", "systemd-tmpfiles", "systemctl"];

Deno.test({
  name:
    "README.md installs on a machine without /etc/sysusers.d, and builds the page before a start",
  fn: async () => {
    const root = await Deno.makeTempDir({ prefix: "svc-systemd-" });
    try {
      const folders = ["bin", "opt/svc", "etc/systemd/system", "usr/local/bin"];
      for (const folder of folders) await Deno.mkdir(join(root, folder), { recursive: true });
      await Deno.symlink(workspacePath("deploy"), join(root, "opt/svc/deploy"));
      const program = `#!/bin/sh\necho "$(basename "$0") $*" >> ${root}/calls\necho /dev/null\n`;
      for (const name of PROGRAMS) {
        await Deno.writeTextFile(join(root, "bin", name), program, { mode: 0o755 });
      }
      const page = await Deno.readTextFile(workspacePath("deploy/systemd/README.md"));
      const commands = pageBlocks(page)[0]?.commands.map(({ text }) => text) ?? [];
      const { success, stderr } = await new Deno.Command("bash", {
        args: ["-e", "-c", commands.join("\n").replaceAll(/ (\/(?:opt|etc|usr)\/)/g, ` ${root}$1`)],
        env: { PATH: `${root}/bin:/usr/bin:/bin` },
      }).output();
      assert.ok(success, new TextDecoder().decode(stderr));
      const calls = (await Deno.readTextFile(join(root, "calls"))).split("\n");
      const place = (words: string) => calls.findIndex((call) => call.includes(words));
      assert.ok(place("install") > 0 && place("task web") > place("install"), calls.join("\n"));
      assert.ok(place("systemctl enable --now") > place("task web"), calls.join("\n"));
      for (const role of ROLES) {
        assert.ok((await Deno.stat(join(root, `etc/systemd/system/svc-${role}.service`))).isFile);
      }
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});
