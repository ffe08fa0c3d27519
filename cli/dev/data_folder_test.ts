import { equal, match, rejects } from "node:assert/strict";
import { isOperatingError } from "../../shared/base/errors.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { claimFolder, requireFreeFolder } from "./data_folder.ts";

Deno.test({
  name: "requireFreeFolder names the folder and who runs in it, and lets go of what it looked at",
  fn: async () => {
    const dir = await Deno.makeTempDir({ prefix: "svc-data-folder-" });
    try {
      const files = new DenoFileSystem();
      await files.mkdir(`${dir}/wal`);
      await files.mkdir(`${dir}/query-cache`);
      await requireFreeFolder(dir);
      const holders = [
        ["dev.lock", "another stack"],
        ["wal/LOCK", "an ingest server"],
        ["query-cache/lock", "a query server"],
      ] as const;
      for (const [path, who] of holders) {
        {
          using _held = await files.tryLock(`${dir}/${path}`);
          await rejects(requireFreeFolder(dir), (error) => {
            equal(isOperatingError(error, "conflict"), true);
            match(
              String(error),
              new RegExp(`Cannot start a stack in ${dir}: ${who} runs there; .*--data-dir$`),
            );
            return true;
          });
        }
        await requireFreeFolder(dir);
      }
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name: "claimFolder holds the folder until it is disposed of, and requireFreeFolder makes none",
  fn: async () => {
    const dir = await Deno.makeTempDir({ prefix: "svc-data-folder-" });
    try {
      await requireFreeFolder(`${dir}/none`);
      equal(await new DenoFileSystem().exists(`${dir}/none`), false);
      {
        using _claim = await claimFolder(dir);
        await rejects(claimFolder(dir), /another stack runs there/);
        await rejects(requireFreeFolder(dir), /another stack runs there/);
      }
      await requireFreeFolder(dir);
      await Deno.writeTextFile(`${dir}/file`, "");
      await rejects(requireFreeFolder(`${dir}/file`), (error) => {
        equal(isOperatingError(error, "permission_denied"), true, String(error));
        match(String(error), /Cannot start a stack in .*\/file: .*--data-dir$/);
        return true;
      });
      await rejects(claimFolder(`${dir}/none`), /Cannot start a stack in .*\/none: /);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
