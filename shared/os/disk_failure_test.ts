import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { DenoFileSystem } from "./deno_file_system.ts";
import { diskError, diskRemedy, namingFile } from "./disk_failure.ts";

const CAUSES: readonly (readonly [what: string, error: unknown, remedy: RegExp | undefined])[] = [
  ["a bad sector", new Error("Input/output error (os error 5)"), /the disk and its file system/],
  ["a full disk", Object.assign(new Error("full"), { code: "ENOSPC" }), /free space/],
  ["a right", new Deno.errors.PermissionDenied("Permission denied (os error 13)"), /the right/],
  ["a permission set", new Deno.errors.NotCapable("Requires read access"), /permission set/],
  ["a bug", new TypeError("x is undefined"), undefined],
  ["a bug that says so", Object.assign(new Error("no"), { code: "ERR_ASSERTION" }), undefined],
  [
    "a connection",
    new Deno.errors.ConnectionRefused("Connection refused (os error 111)"),
    undefined,
  ],
  ["no error", "text", undefined],
];

for (const [what, error, remedy] of CAUSES) {
  Deno.test({
    name: `diskRemedy of ${what}`,
    fn() {
      const found = diskRemedy(error);
      if (remedy === undefined) {
        assert.equal(found, undefined);
        return assert.equal(diskError("read /d/f", error), error);
      }
      assert.match(found ?? "", remedy);
      const told = diskError("read /d/f", error);
      assert.ok(isOperatingError(told, "unavailable"));
      assert.match(told.message, /^Cannot read \/d\/f: /);
      assert.match(told.message, remedy);
    },
  });
}

Deno.test({
  name: "a read that fails on the disk names its file, which the system does not",
  ignore: Deno.build.os !== "linux",
  async fn() {
    // The kernel answers EIO for an address that nothing is mapped to.
    await using file = await new DenoFileSystem().openRead("/proc/self/mem");
    await assert.rejects(file.readAt(new Uint8Array(8), 0), (error) => {
      assert.ok(error instanceof Error);
      assert.match(error.message, /os error 5\).*read '\/proc\/self\/mem'/);
      assert.match(diskRemedy(error) ?? "", /the disk/);
      return true;
    });
  },
});

Deno.test({
  name: "namingFile keeps the class of an error, and leaves bugs as they are",
  fn() {
    const denied = new Deno.errors.PermissionDenied("Permission denied (os error 13)");
    assert.equal(namingFile(denied, "write", "/d/f"), denied);
    assert.match(denied.message, /: write '\/d\/f'$/);
    const bug = new TypeError("x");
    assert.equal((namingFile(bug, "write", "/d/f") as Error).message, "x");
  },
});
