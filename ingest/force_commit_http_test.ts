/** `commit=force` over HTTP, with a drain that only does what a drain's commit point does. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { openSqliteCatalog } from "../shared/catalog/sqlite_catalog.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { openWalReader } from "../shared/wal/reader.ts";
import { RunningIngest } from "../tests/clients/running_ingest.ts";
import { encodeLogsRequest } from "../proto/otlp_logs.ts";

const PROTOBUF = { "content-type": "application/x-protobuf" };
const LANE = { tenant: "default", index: "events" };

function bodyOf(text: string): Uint8Array<ArrayBuffer> {
  const logRecords = [{ timeUnixNano: "1763000000000000000", body: { stringValue: text } }];
  return new Uint8Array(encodeLogsRequest({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

/** Records every sealed segment as consumed, in one commit. */
async function consumeSealed(dataDir: string): Promise<string[]> {
  const fs = new DenoFileSystem();
  const path = join(dataDir, "warehouse", "catalog.db");
  await using catalog = await openSqliteCatalog({ path, files: fs });
  const sealed = await openWalReader(fs, join(dataDir, "wal")).list(LANE, ["sealed"]);
  const consumed = sealed.map((segment) => segment.name);
  const outcome = await catalog.commit({
    ident: { namespace: "svc", name: "events" },
    expected: undefined,
    next: "file:///nowhere/00000.metadata.json",
    tableUuid: "0198c0de-0000-7000-8000-000000000000",
    snapshotId: 1n,
    consumed,
  });
  assert.equal(outcome, "committed");
  return consumed;
}

Deno.test({
  name: "commit=force answers once the catalog holds the request's segment, not before",
  fn: async () => {
    const woken = Promise.withResolvers<void>();
    const startDrain = () => ({
      wake: () => woken.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
    await using ingest = await RunningIngest.start([], { startDrain });
    let answered = false;
    const answer = ingest.post(bodyOf("forced"), { headers: PROTOBUF, query: "?commit=force" });
    void answer.then(() => answered = true);
    await woken.promise;
    await new Promise((resolve) => setTimeout(resolve, 150));
    assert.equal(answered, false);
    assert.equal((await consumeSealed(ingest.dataDir)).length, 1);
    const response = await answer;
    await response.body?.cancel();
    assert.equal(response.status, 200);
    assert.equal(await ingest.metric('svc_ingest_force_commits_total{outcome="observed"}'), 1);
  },
});

Deno.test({
  name: "commit=force without a compactor is a 504 that says so; the rows are stored",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--commit-force-timeout-secs", "1"]);
    const headers = { "content-type": "application/json", "x-svc-commit": "force" };
    const logRecords = [{ timeUnixNano: "1763000000000000000", body: { stringValue: "kept" } }];
    const response = await ingest.post(
      JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
      { headers },
    );
    assert.equal(response.status, 504);
    const status = await response.json();
    assert.equal(status.code, 4);
    assert.match(status.message, /no compactor committed .* within 1 s.*would double them/);
    assert.deepEqual((await ingest.rows()).map((row) => row.columns.raw), ["kept"]);
    assert.equal(await ingest.metric('svc_ingest_events_total{endpoint="logs"}'), 1);
    assert.equal(await ingest.metric('svc_ingest_force_commits_total{outcome="timeout"}'), 1);
    assert.equal(await ingest.metric('svc_ingest_force_commits_total{outcome="observed"}'), 0);
  },
});

Deno.test({
  name: "commit=force with --remote-drain and a catalog in a file is a 400, and nothing is stored",
  fn: async () => {
    const mirror = ["--wal-mirror-prefix", "wal-mirror"];
    await assert.rejects(RunningIngest.start(["--remote-drain"]), /without a mirror/);
    await using ingest = await RunningIngest.start(["--remote-drain", ...mirror]);
    const response = await ingest.post(bodyOf("refused"), {
      headers: PROTOBUF,
      query: "?commit=force",
    });
    assert.equal(response.status, 400);
    await response.body?.cancel();
    assert.deepEqual(await ingest.rows(), []);
    const stored = await ingest.post(bodyOf("kept"), { headers: PROTOBUF });
    assert.equal(stored.status, 200);
    await stored.body?.cancel();
  },
});
