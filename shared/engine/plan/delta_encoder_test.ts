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
    const rowsOf = () => ({
      columns,
      messages: [messageOf(0, 500), messageOf(500, 1)],
      promoted: [],
      effort,
    });
    equal(await encoder.encode(rowsOf(), fails), encodeDelta(rowsOf()));
  }
});

Deno.test("openDeltaEncoder() tells of a bad message as encodeDelta() does, and goes on", async () => {
  using encoder = openDeltaEncoder();
  const rowsOf = (message: Uint8Array) =>
    ({ columns, messages: [message], promoted: [], effort: "none" }) as const;
  const bad = () => rowsOf(messageOf(0, 3).fill(0xff, 8));
  await rejects(
    encoder.encode(bad(), () => Promise.resolve(bad())),
    (error) => isOperatingError(error, "corrupt"),
  );
  const good = () => rowsOf(messageOf(0, 3));
  equal(await encoder.encode(good(), fails), encodeDelta(good()));
});

Deno.test("openDeltaEncoder() reads the rows once more where its thread failed with them", async () => {
  using encoder = openDeltaEncoder();
  const rows = { columns, messages: [messageOf(0, 3)], promoted: [], effort: "none" } as const;
  const bad = { ...rows, messages: [messageOf(0, 3).fill(0xff, 8)] };
  equal(await encoder.encode(bad, () => Promise.resolve(rows)), encodeDelta(rows));
});

function fails(): Promise<never> {
  return Promise.reject(new Error("the rows were read once more"));
}

function messageOf(first: number, count: number): Uint8Array {
  const rows = Array.from({ length: count }, (_, at) => {
    const ns = BigInt(first + at) * 1_000_000n;
    const core = { host: "h", source: "s", sourcetype: "t", index: "i" };
    return { ...core, timestamp: ns / 1_000n, timestamp_ns: ns, raw: `row ${first + at}` };
  });
  return concatBytes(encodeBatch(batchOfRows(EVENTS_SCHEMA, rows)).pieces);
}
