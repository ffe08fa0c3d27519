/**
 * The ingest server as a process with a small memory limit, and more senders of large OTLP and bulk
 * bodies than fit in it. It sheds with 503 and Retry-After, has every row that it acknowledged, and
 * takes no more memory than its limit.
 */

import assert from "node:assert/strict";
import { PeakMemory } from "../../shared/testing/process_memory.ts";
import { bulkBody } from "../bench/bulk_bodies.ts";
import { otlpLogsBody } from "../bench/otlp_bodies.ts";
import { storedRows } from "../clients/running_ingest.ts";
import { RoleProcess } from "../apps/role_process.ts";

interface Case {
  readonly limitMib: number;
  readonly senders: number;
  readonly records: number;
}

/** The last has bodies that are decoded on the thread of the requests. */
const CASES: readonly Case[] = [
  { limitMib: 192, senders: 48, records: 5_000 },
  { limitMib: 256, senders: 64, records: 5_000 },
  { limitMib: 512, senders: 96, records: 5_000 },
  { limitMib: 192, senders: 200, records: 500 },
];
/** Requests of each sender. */
const ROUNDS = Number(Deno.env.get("SVC_TEST_SHED_ROUNDS") ?? 2);
const SAMPLE_MS = 20;
const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z

const FORMS = [
  { path: "/v1/logs", type: "application/x-protobuf", body: otlpLogsBody },
  { path: "/api/v1/_compat/_bulk", type: "application/x-ndjson", body: bulkBody },
] as const;

for (const { limitMib, senders, records } of CASES) {
  Deno.test({
    name:
      `an ingest server of ${limitMib} MiB with ${senders} senders of ${records} rows a request stays within it and loses no row`,
    ignore: Deno.build.os !== "linux",
    async fn() {
      const dir = await Deno.makeTempDir({ prefix: "svc-ingest-memory-" });
      try {
        const told = await flood(dir, { limitMib, senders, records });
        // deno-lint-ignore no-console
        console.log(`limit ${limitMib} MiB, peak ${told.peak.told}, ${JSON.stringify(told.sent)}`);
        assert.ok(told.sent.taken >= senders / 4, "it goes on serving");
        assert.ok(told.sent.shed > 0, "more was sent than fits");
        const stored = await storedRows(dir);
        assert.equal(stored.length, told.sent.taken * records);
        assert.ok(told.peak.bytes <= limitMib * 1024 ** 2, told.peak.told);
      } finally {
        await Deno.remove(dir, { recursive: true });
      }
    },
  });
}

async function flood(dir: string, { limitMib, senders, records }: Case) {
  const sent = { taken: 0, shed: 0 };
  const bodies = FORMS.map(({ body }) => body({ records, startNs: START_NS }));
  await using ingest = await RoleProcess.start("ingest", dir, [
    ...["--ingest-mem-limit-mib", String(limitMib), "--ingest-free-space-floor-mib", "0"],
  ]);
  using peak = new PeakMemory(
    () => ingest.memory().map(({ bytes }) => bytes),
    { everyMs: SAMPLE_MS },
  );
  await Promise.all(Array.from({ length: senders }, async (_, sender) => {
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
