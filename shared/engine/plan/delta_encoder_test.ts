import { deepStrictEqual as equal, rejects } from "node:assert/strict";
import { concatBytes } from "../../base/bytes.ts";
import { isOperatingError } from "../../base/errors.ts";
import { encodeBatch } from "../../columns/ipc.ts";
import { batchOfRows } from "../../columns/rows.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { openDeltaEncoder } from "./delta_encoder.ts";
import { encodeDelta } from "./delta_file.ts";

const { columns } = EVENTS_SCHEMA;

Deno.test("openDeltaEncoder() makes on its thread what encodeDelta() makes", async () => {
  using encoder = openDeltaEncoder();
  for (const effort of ["none", "quick"] as const) {
    const rows = {
      columns,
      messages: [messageOf(0, 500), messageOf(500, 1)],
      promoted: [],
      effort,
    };
    equal(await encoder.encode(rows), encodeDelta(rows));
  }
});

Deno.test("openDeltaEncoder() tells of a bad message as encodeDelta() does, and goes on", async () => {
  using encoder = openDeltaEncoder();
  const bad = messageOf(0, 3).fill(0xff, 8);
  await rejects(
    encoder.encode({ columns, messages: [bad], promoted: [], effort: "none" }),
    (error) => isOperatingError(error, "corrupt"),
  );
  const rows = { columns, messages: [messageOf(0, 3)], promoted: [], effort: "none" } as const;
  equal(await encoder.encode(rows), encodeDelta(rows));
});

function messageOf(first: number, count: number): Uint8Array {
  const rows = Array.from({ length: count }, (_, at) => {
    const ns = BigInt(first + at) * 1_000_000n;
    const core = { host: "h", source: "s", sourcetype: "t", index: "i" };
    return { ...core, timestamp: ns / 1_000n, timestamp_ns: ns, raw: `row ${first + at}` };
  });
  return concatBytes(encodeBatch(batchOfRows(EVENTS_SCHEMA, rows)).pieces);
}
