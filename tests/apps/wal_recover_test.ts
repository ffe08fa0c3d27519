/**
 * A machine loses its disk after its WAL was mirrored: `svc wal-recover` on a new one, as
 * processes.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { workspacePath } from "../../cli/permissions.ts";
import { S3Process } from "../../shared/testing/s3_process.ts";
import { Stack } from "./stack.ts";

const MIRROR_URL = "s3://warehouse/lake/wal-mirror/";
const UPLOAD_MS_MAX = 15_000;

Deno.test({
  name:
    "wal-recover brings every mirrored row of a lost WAL back once, beside rows committed before",
  async fn() {
    await using s3 = await S3Process.start();
    await using stack = await Stack.start({
      warehouseUrl: "s3://warehouse/lake",
      env: s3.environment,
      rollAgeSecs: 1,
    });
    assert.equal(await stack.sendLogs(["a", "b"], { commit: "force" }), true);
    await stack.kill("compactor");
    const before = uploads(s3);
    assert.equal(await stack.sendLogs(["c", "d"], { commit: "wait_for" }), true);
    for (const end = Date.now() + UPLOAD_MS_MAX; uploads(s3) === before;) {
      assert.ok(Date.now() < end, "nothing was mirrored");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // What was seen may be the committed segment's upload: the other is sealed within a second.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await stack.kill("ingest");
    const wal = join(stack.dataDir, "wal");
    await Deno.remove(wal, { recursive: true });

    const catalog = `sqlite://${stack.dataDir}/warehouse/catalog.db?mode=rwc`;
    const recover = (...more: string[]) =>
      svc(["wal-recover", "--from", MIRROR_URL, "--to", wal, "--catalog", catalog, ...more], s3);
    const other = `${stack.dataDir}/other.db`;
    await Deno.writeFile(other, new Uint8Array());
    const mistaken = await svc(
      ["wal-recover", "--from", MIRROR_URL, "--to", wal, "--catalog", other, "--apply"],
      s3,
    );
    assert.equal(mistaken.code, 1, "an empty database would tell that nothing was committed");
    assert.match(mistaken.notes, /--catalog .*other.db: no server has made its tables there/);
    const planned = await recover();
    assert.equal(planned.code, 0, planned.notes);
    assert.match(planned.output, /^default\/events +\S+\.seg +sealed +\d+ +pull$/m);
    await assert.rejects(Deno.stat(wal), Deno.errors.NotFound);
    const pulled = await recover("--apply");
    assert.equal(pulled.code, 0, pulled.notes);
    assert.match(pulled.notes, /pulled 1 segment with 2 rows/);
    const again = await recover("--apply");
    assert.equal(again.code, 1);
    assert.match(again.notes, /Cannot recover anything/);

    await stack.ensure("ingest");
    await stack.ensure("compactor");
    assert.equal(await stack.sendLogs(["e"], { commit: "force" }), true);
    const { rows } = await stack.sql("SELECT raw FROM events ORDER BY raw");
    assert.deepEqual(rows, [["a"], ["b"], ["c"], ["d"], ["e"]]);
  },
});

function uploads(s3: S3Process): number {
  return s3.requests.filter(({ method, path }) =>
    method === "PUT" && path.includes("/lake/wal-mirror/")
  ).length;
}

async function svc(args: readonly string[], s3: S3Process) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "-P=cli", workspacePath("cli/main.ts"), ...args],
    cwd: workspacePath("."),
    env: { ...s3.environment },
  }).output();
  const text = new TextDecoder();
  return { code, output: text.decode(stdout), notes: text.decode(stderr) };
}
