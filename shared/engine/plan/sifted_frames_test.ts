import { ok, strictEqual } from "node:assert/strict";
import { concatBytes } from "../../base/bytes.ts";
import { encodeBatch, encodeSchemaMessage } from "../../columns/ipc.ts";
import { batchOfRows } from "../../columns/rows.ts";
import { ALL_TIME } from "../../iceberg/types.ts";
import type { ReadableFiles } from "../../os/file_system.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { CrashableFileSystem } from "../../testing/crashable_file_system.ts";
import { frameOf } from "../../testing/wal_frame.ts";
import { encodeHeader } from "../../wal/format.ts";
import { summaryOf } from "../../wal/frame_summary.ts";
import { openWalReader } from "../../wal/reader.ts";
import { TraceIds, type TraceWords } from "../../wal/trace_filter.ts";
import { FrameCount } from "./counted_frames.ts";
import { learnSchema, newSegment } from "./delta_segment.ts";
import { framesOfTraces } from "./sifted_frames.ts";

const LANE = { tenant: "default", index: "events" };
const NAME = "1795208645000-0000-0123456789abcdef.seg";
const FRAMES = 3_000;

/** The words of a frame's trace: each has another. */
function wordsOf(frame: number): TraceWords {
  return { high: Math.imul(frame, 0x9e3779b1), low: Math.imul(frame, 0x85ebca6b) };
}

/** A row of that trace in a frame. */
function frameOfTrace(frame: number, frameSeed: number): Uint8Array {
  const ids = new TraceIds();
  const id = new DataView(new ArrayBuffer(16));
  const { high, low } = wordsOf(frame);
  id.setInt32(8, high);
  id.setInt32(12, low);
  ids.add(id, 0, 16);
  const row = { host: "h", source: "s", sourcetype: "t", index: "i", raw: "r", attributes: null };
  const ns = BigInt(frame) * 1_000n;
  const times = { timestamp: BigInt(frame), timestamp_ns: ns };
  const batch = { ...batchOfRows(EVENTS_SCHEMA, [{ ...row, ...times }]), traces: ids.take() };
  const summary = summaryOf(batch);
  ok(summary !== undefined);
  return frameOf({ ...encodeBatch(batch), summary }, frameSeed);
}

/** These files, with `note` told of the bytes that are asked for. */
function readingFiles(files: ReadableFiles, note: (bytes: number) => void): ReadableFiles {
  return {
    readFile: (path) => files.readFile(path),
    stat: (path) => files.stat(path),
    exists: (path) => files.exists(path),
    readDir: (path) => files.readDir(path),
    freeBytes: (path) => files.freeBytes(path),
    openRead: async (path) => {
      const file = await files.openRead(path);
      const readAt = (into: Uint8Array, offset: number) => {
        note(into.byteLength);
        return file.readAt(into, offset);
      };
      return {
        readAt,
        size: () => file.size(),
        close: () => file.close(),
        [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
      };
    },
  };
}

Deno.test("framesOfTraces() reads the frames that may hold the trace, and little else", async () => {
  const files = new CrashableFileSystem();
  const directory = `/wal/${LANE.tenant}/${LANE.index}/sealed`;
  await files.mkdir(directory);
  const schemaMessage = encodeSchemaMessage(EVENTS_SCHEMA);
  const header = encodeHeader({ lane: LANE, createdMs: 1, schemaMessage });
  const frames = Array.from({ length: FRAMES }, (_, at) => frameOfTrace(at, header.frameSeed));
  {
    await using file = await files.create(`${directory}/${NAME}`);
    await file.write(concatBytes([header.bytes, ...frames]));
  }
  let bytes = 0;
  const wal = openWalReader(readingFiles(files, (more) => void (bytes += more)), "/wal");
  const segment = newSegment(LANE, NAME);
  const counted = await new FrameCount().count(async () => {
    const reader = await wal.open(LANE, NAME);
    learnSchema(segment, reader);
    return reader;
  }, { isComplete: true, hasRoom: true });
  ok(counted !== undefined);
  strictEqual(counted.rows, FRAMES);
  bytes = 0;
  const found = await framesOfTraces(
    wal,
    segment,
    { frames: counted.frames, rows: counted.rows, isConverted: false },
    { range: ALL_TIME, sieve: () => undefined, traces: () => [wordsOf(7)], signal: undefined },
  ) ?? [];
  const times = found.map(({ timestampNsMin }) => timestampNsMin);
  ok(times.includes(7_000n), String(times));
  const sizes = found.map(({ offset, endOffset }) => endOffset - offset);
  const wanted = header.bytes.byteLength + sizes.reduce((sum, size) => sum + size, 0);
  ok(bytes < 2 * wanted, `${bytes} bytes are read for ${wanted}`);
});
