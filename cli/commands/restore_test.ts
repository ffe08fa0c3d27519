import assert from "node:assert/strict";
import { runRecorded } from "../recorded_run.ts";

Deno.test({
  name: "svc restore --list says that a place has no backup",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-restore-" });
    try {
      const { status, notes } = await runRecorded(folder, "restore", [
        ...["--from", `${folder}/nothing`, "--list"],
      ]);
      assert.equal(status, 0);
      assert.match(notes, /^file:\/\/\S*\/nothing has no point of a backup\n$/);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
