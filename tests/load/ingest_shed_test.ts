/**
 * The ingest server as a process with a small memory limit, and more senders of large OTLP and bulk
 * bodies than fit in it. It sheds with 503 and Retry-After, and has every row that it acknowledged.
 * The peak of resident memory is told and not judged: docs/measurements/memory.md says why.
 */

import assert from "node:assert/strict";
import { PeakMemory } from "../../shared/testing/process_memory.ts";
import { bulkBody } from "../bench/bulk_bodies.ts";
import { otlpLogsBody } from "../bench/otlp_bodies.ts";
import { storedRows } from "../clients/running_ingest.ts";
import { RoleProcess } from "../apps/role_process.ts";

const LIMIT_MIB = 192;
const SENDERS = 48;
const ROUNDS = 4;
const RECORDS = 5_000;
const SAMPLE_MS = 20;
const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z

const FORMS = [
  { path: "/v1/logs", type: "application/x-protobuf", body: otlpLogsBody },
  { path: "/api/v1/_compat/_bulk", type: "application/x-ndjson", body: bulkBody },
] as const;

Deno.test({
  name: "an ingest server with more bodies than fit sheds them and loses no row",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "svc-ingest-memory-" });
    try {
      const told = await flood(dir);
      // deno-lint-ignore no-console
      console.log(`limit ${LIMIT_MIB} MiB, peak ${told.peak.told}, ${JSON.stringify(told.sent)}`);
      assert.ok(told.sent.taken >= SENDERS / 2, "most senders are served");
      assert.ok(told.sent.shed > 0, "more was sent than fits");
      const stored = await storedRows(dir);
      assert.equal(stored.length, told.sent.taken * RECORDS);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

async function flood(dir: string) {
  const sent = { taken: 0, shed: 0 };
  const bodies = FORMS.map(({ body }) => body({ records: RECORDS, startNs: START_NS }));
  await using ingest = await RoleProcess.start("ingest", dir, [
    ...["--ingest-mem-limit-mib", String(LIMIT_MIB), "--ingest-free-space-floor-mib", "0"],
  ]);
  using peak = new PeakMemory(
    () => ingest.memory().map(({ bytes }) => bytes),
    { everyMs: SAMPLE_MS },
  );
  await Promise.all(Array.from({ length: SENDERS }, async (_, sender) => {
    const form = FORMS[sender % FORMS.length] ?? FORMS[0];
    const body = bodies[sender % FORMS.length] ?? new Uint8Array();
    for (let round = 0; round < ROUNDS; round += 1) {
      const response = await fetch(`${ingest.url}${form.path}`, {
        method: "POST",
        headers: { "content-type": form.type },
        body,
      });
      const text = await response.text();
      if (response.status === 200) {
        sent.taken += 1;
        continue;
      }
      assert.equal(response.status, 503, text.slice(0, 300));
      const secs = Number(response.headers.get("retry-after"));
      assert.ok(secs >= 1, "it says when to come again");
      sent.shed += 1;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }));
  peak.sample();
  return { peak, sent };
}
