/** The coordinator's side of a shard's answer, however the network cuts it. */

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { concatBytes, utf8 } from "../../shared/base/bytes.ts";
import { encodeColumns, encodeSchemaMessage } from "../../shared/columns/ipc.ts";
import { batchOfRows } from "../../shared/columns/rows.ts";
import { ARROW_END } from "../../shared/engine/answer/arrow_message.ts";
import type { ReceivedRows } from "../../shared/engine/shards/received_rows.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";
import { zstdFrames } from "../sql/zstd_frames.ts";
import { readShardStream } from "./shard_stream.ts";

const SCHEMA: TableSchema = {
  columns: [{ id: 1, name: "c0", type: "string", required: false }],
  tags: [],
};
const ROWS = 2_000;
const MESSAGES = 12;
const STATS = { rows_scanned: 5, bytes_scanned: 6, spill_bytes: 0 };

function message(number: number): Uint8Array<ArrayBuffer> {
  const rows = Array.from({ length: ROWS }, (_, at) => ({ c0: `${number} `.repeat(40 + at % 9) }));
  return concatBytes(encodeColumns(batchOfRows(SCHEMA, rows)).pieces);
}

/** What a worker sends, as `query/sql/sql_stream.ts` does. */
async function answerBytes(): Promise<Uint8Array> {
  const lines = async function* () {
    yield Uint8Array.from(encodeSchemaMessage(SCHEMA));
    for (let number = 0; number < MESSAGES; number += 1) yield message(number);
    yield concatBytes([ARROW_END, utf8(JSON.stringify(STATS))]);
    return undefined;
  };
  return concatBytes(await Array.fromAsync(zstdFrames(lines())));
}

/** Pieces of so many bytes, each of which comes when the one before was looked at. */
function inPieces(bytes: Uint8Array, length: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (at >= bytes.byteLength) return controller.close();
      controller.enqueue(bytes.slice(at, at + length));
      at += length;
    },
  }, { highWaterMark: 0 });
}

async function read(bytes: Uint8Array, length: number) {
  const kept: Uint8Array[] = [];
  const received = {
    keep: (stream: Uint8Array, rows: number) => {
      kept.push(stream);
      return Promise.resolve({ path: "", rows, byteLength: stream.byteLength });
    },
  } as unknown as ReceivedRows;
  const { signal } = new AbortController();
  const told = await readShardStream(inPieces(bytes, length), {
    ...{ received, signal },
    bytesAhead: 1_000_000,
  });
  return { ...told, kept };
}

Deno.test({
  name: "readShardStream reads an answer of many frames, wherever its pieces end",
  async fn() {
    const bytes = await answerBytes();
    const whole = await read(bytes, bytes.byteLength);
    strictEqual(whole.rows, ROWS * MESSAGES);
    deepStrictEqual(whole.stats, STATS);
    for (const length of [97, 512, 4_096]) {
      deepStrictEqual((await read(bytes, length)).kept, whole.kept, `pieces of ${length} bytes`);
    }
  },
});

Deno.test({
  name: "readShardStream an answer that is cut anywhere is none",
  async fn() {
    const bytes = await answerBytes();
    for (const share of [0, 0.01, 0.5, 0.99]) {
      const cut = bytes.subarray(0, Math.floor(bytes.byteLength * share));
      await rejects(read(cut, 512), { reason: "shard_cut_short" });
    }
  },
});
