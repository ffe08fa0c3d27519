/**
 * A machine loses its disk after its WAL was mirrored: `svc wal-recover` on a new one, as
 * processes.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { workspacePath } from "../../cli/permissions.ts";
import { present } from "../../shared/base/assert.ts";
import { openS3Store } from "../../shared/storage/s3_store.ts";
import { S3Process } from "../../shared/testing/s3_process.ts";
import { until } from "../../shared/testing/until.ts";
import { Stack } from "./stack.ts";

const MIRROR_URL = "s3://warehouse/lake/wal-mirror/";

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
    assert.equal(await stack.sendLogs(["c", "d"], { commit: "wait_for" }), true);
    const newest = await newestSegment(join(stack.dataDir, "wal", "default", "events"));
    // Sealed, it is in the mirror whole.
    await until(async () => (await mirrored(s3)).some((key) => key.includes(`/events/${newest}`)));
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

/** Name of the segment that was begun last. */
async function newestSegment(lane: string): Promise<string> {
  const names: string[] = [];
  for (const state of ["active", "sealed"]) {
    for await (const { name } of Deno.readDir(join(lane, state))) {
      if (/^\d.*\.seg$/.test(name)) names.push(name);
    }
  }
  return present(names.toSorted().at(-1), "a segment");
}

/** Keys of sealed segments in the mirror. */
async function mirrored(s3: S3Process): Promise<string[]> {
  const lake = openS3Store(s3.place("lake"), s3.access);
  const objects = await Array.fromAsync(lake.list("wal-mirror/"));
  return objects.map(({ key }) => key).filter((key) => !key.includes("/_active/"));
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
