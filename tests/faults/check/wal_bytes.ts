/**
 * Rows of a WAL directory by its documented bytes (`shared/wal/README.md`, On disk), read with none
 * of the product's code. A row is found by its id in the bytes of its frame, unpacked.
 */

import { join } from "node:path";
import { crc32, zstdDecompressSync } from "node:zlib";
import { idsIn } from "../ledger.ts";

const SEGMENT_MAGIC = "SVCW";
const SEGMENT_HEAD_BYTES = 32;
const FRAME_HEAD_BYTES = 32;
const PACKED = 1;
/** Low bits of a multiple of 8: the rest is the length of a summary. */
const FLAGS = 7;
const PACKED_HEAD_BYTES = 8;

/** Directories of a lane with segments, the one to believe first behind the others. */
const STATES = ["active", "sealed", "committed"] as const;
export type SegmentState = typeof STATES[number];

export interface SegmentRows {
  /** Row ids of the whole frames up to the first that is not. */
  readonly ids: readonly string[];
  /** What ended the reading before the end of the file; undefined when nothing did. */
  readonly damage: string | undefined;
}

export interface FoundSegment {
  readonly table: string;
  readonly name: string;
  readonly state: SegmentState;
  readonly path: string;
}

/** Segments below `walRoot` of the default tenant, each once, in the latest state it is seen in. */
export function findSegments(walRoot: string): readonly FoundSegment[] {
  const tenant = join(walRoot, "default");
  const found = new Map<string, FoundSegment>();
  for (const table of namesIn(tenant)) {
    for (const state of STATES) {
      for (const name of namesIn(join(tenant, table, state))) {
        if (!name.endsWith(".seg") || name.startsWith(".")) continue;
        found.set(name, { table, name, state, path: join(tenant, table, state, name) });
      }
    }
  }
  return [...found.values()];
}

/** What is whole in the bytes of a segment. */
export function readSegment(bytes: Uint8Array): SegmentRows {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const ids: string[] = [];
  const headBytes = bytes.byteLength < SEGMENT_HEAD_BYTES ? 0 : view.getUint32(8, true);
  if (
    headBytes < SEGMENT_HEAD_BYTES || headBytes > bytes.byteLength ||
    latin1(bytes.subarray(0, 4)) !== SEGMENT_MAGIC
  ) return { ids, damage: "header" };
  const headSum = crc32(bytes.subarray(16, headBytes), crc32(bytes.subarray(0, 12)));
  if (view.getUint32(12, true) !== headSum) return { ids, damage: "sum of the header" };
  for (let at = headBytes; at < bytes.byteLength;) {
    if (at + FRAME_HEAD_BYTES > bytes.byteLength) return { ids, damage: "head of a frame" };
    const payloadBytes = view.getUint32(at, true);
    const flags = view.getUint16(at + 14, true);
    const payloadAt = at + FRAME_HEAD_BYTES + view.getUint16(at + 12, true) + (flags & ~FLAGS);
    const end = payloadAt + payloadBytes;
    if (payloadBytes === 0 || end > bytes.byteLength) return { ids, damage: "length of a frame" };
    const begin = crc32(bytes.subarray(at, at + 4), headSum);
    if (view.getUint32(at + 4, true) !== crc32(bytes.subarray(at + 8, end), begin)) {
      return { ids, damage: "sum of a frame" };
    }
    const payload = bytes.subarray(payloadAt, end);
    const isPacked = (flags & PACKED) !== 0;
    const rows = new Set(idsIn(latin1(isPacked ? unpack(payload) : payload)));
    if (rows.size !== view.getUint32(at + 8, true)) {
      return { ids, damage: `a frame of ${view.getUint32(at + 8, true)} rows has ${rows.size}` };
    }
    ids.push(...rows);
    at = end;
  }
  return { ids, damage: undefined };
}

function unpack(payload: Uint8Array): Uint8Array {
  const packedBytes = new DataView(payload.buffer, payload.byteOffset).getUint32(4, true);
  return zstdDecompressSync(payload.subarray(PACKED_HEAD_BYTES, PACKED_HEAD_BYTES + packedBytes));
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}

function namesIn(folder: string): readonly string[] {
  try {
    return Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
