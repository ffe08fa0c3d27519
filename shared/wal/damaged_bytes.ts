/**
 * Damaged bytes of a segment whose other frames went on: `poison/<segment>.damaged` keeps them with
 * where they were, for a person to look at. README.md ("What is damaged") has the layout.
 *
 * Invariant: the file is durable before the segment's intact rows are committed, so what is damaged
 * is on record from then on. It is written whole and never changed.
 */

import { join } from "node:path";
import { crc32, hexOf, viewOf } from "../base/bytes.ts";
import { isOperatingError, OperatingError } from "../base/errors.ts";
import { epochOfSchemaMessage } from "../columns/ipc.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { FileSystem, ReadableFile, ReadableFiles } from "../os/file_system.ts";
import type { Random } from "../os/random.ts";
import { CHUNK_BYTES, readSegmentHeader } from "./frame_scanner.ts";
import {
  damagedPath,
  dirEntriesOf,
  isLanePart,
  isSegmentName,
  segmentOfDamagedFile,
  segmentPath,
  stateDirectory,
  statIfPresent,
  temporaryPath,
} from "./layout.ts";
import type { FrameDamage, SetAside } from "./types.ts";

const MAGIC = 0x44435653; // "SVCD" as a little-endian u32
const VERSION = 1;
const HEAD_BYTES = 16;
const CRC_OFFSET = 12;
const RANGE_BYTES = 24;
/** More damaged stretches than the frames that a segment can have are none of ours. */
const RANGES_MAX = 1024 * 1024;

/** What a file of damaged bytes tells. */
export interface DamagedBytes {
  readonly damage: readonly FrameDamage[];
  /** Epoch of the segment's rows: `TableSchema.epoch`. */
  readonly epoch: number;
}

/**
 * Keeps the stretches `damage` of the sealed segment `name`, durably. Errors: `NotFound` when it is
 * not sealed any more.
 */
export async function keepDamaged(
  fs: FileSystem,
  root: string,
  { lane, name, damage, random }: {
    readonly lane: LaneId;
    readonly name: string;
    readonly damage: readonly FrameDamage[];
    readonly random: Random;
  },
): Promise<void> {
  await using segment = await fs.openRead(segmentPath(root, lane, { state: "sealed", name }));
  const path = damagedPath(root, lane, name);
  const directory = stateDirectory(root, lane, "poison");
  await fs.mkdir(directory);
  // Two drains may do this at a time: each has a file of its own until it is whole.
  const temporary = temporaryPath(directory, `${name}.${hexOf(random.bytes(8))}`);
  const header = await readSegmentHeader(segment, path);
  {
    await using file = await fs.create(temporary);
    await file.write(encodeHead(damage));
    if (header !== undefined) await file.write(header.bytes);
    const size = await segment.size();
    for (const { offset, endOffset } of damage) {
      for (let at = offset; at < Math.min(endOffset, size);) {
        const chunk = new Uint8Array(Math.min(CHUNK_BYTES, Math.min(endOffset, size) - at));
        const count = await segment.readAt(chunk, at);
        if (count === 0) break;
        await file.write(chunk.subarray(0, count));
        at += count;
      }
    }
    await file.sync();
  }
  await fs.rename(temporary, path);
  await fs.syncDir(directory);
}

/** Errors: `corrupt`, `unimplemented`; the file system's. */
export async function readDamaged(fs: ReadableFiles, path: string): Promise<DamagedBytes> {
  await using file = await fs.openRead(path);
  const head = new Uint8Array(HEAD_BYTES);
  const count = await file.readAt(head, 0) < HEAD_BYTES ? 0 : rangesIn(head, path);
  const whole = new Uint8Array(HEAD_BYTES + count * RANGE_BYTES);
  if (await file.readAt(whole, 0) < whole.byteLength || count === 0) throw corrupt(path);
  if (crcOf(whole) !== viewOf(whole).getUint32(CRC_OFFSET, true)) throw corrupt(path);
  const header = await readSegmentHeader(partOf(file, whole.byteLength), path);
  if (header === undefined) throw corrupt(path);
  return { damage: decodeRanges(whole, count), epoch: epochOfSchemaMessage(header.schemaMessage) };
}

/** What lies in `poison/` of a lane, oldest first. Errors: the file system's. */
export async function listSetAside(
  fs: ReadableFiles,
  root: string,
  lane: LaneId,
): Promise<SetAside[]> {
  if (!isLanePart(lane.tenant) || !isLanePart(lane.index)) return [];
  const directory = stateDirectory(root, lane, "poison");
  const found: SetAside[] = [];
  for (const { name: file, isFile } of await dirEntriesOf(fs, directory)) {
    if (!isFile) continue;
    const name = segmentOfDamagedFile(file);
    if (name === undefined && !isSegmentName(file)) continue;
    const stat = await statIfPresent(fs, join(directory, file));
    if (stat === undefined) continue;
    found.push(
      name === undefined
        ? { name: file, kind: "segment", bytes: stat.size, rows: undefined, epoch: undefined }
        : await damagedOf(fs, join(directory, file), { name, size: stat.size }),
    );
  }
  return found.sort((a, b) => a.name < b.name ? -1 : 1);
}

async function damagedOf(
  fs: ReadableFiles,
  path: string,
  { name, size }: { readonly name: string; readonly size: number },
): Promise<SetAside> {
  try {
    const { damage, epoch } = await readDamaged(fs, path);
    const bytes = damage.reduce((sum, { offset, endOffset }) => sum + endOffset - offset, 0);
    return { name, kind: "bytes", bytes, rows: rowsLostIn(damage), epoch };
  } catch (error) {
    // What it tells is damaged, too: that rows are missing is certain all the same.
    if (!isOperatingError(error) && !(error instanceof Deno.errors.NotFound)) throw error;
    return { name, kind: "bytes", bytes: size, rows: undefined, epoch: undefined };
  }
}

/** Rows that were lost with some damaged stretches; undefined: of one of them it is not known. */
export function rowsLostIn(damage: readonly FrameDamage[]): number | undefined {
  let sum = 0;
  for (const { rows } of damage) {
    if (rows === undefined) return undefined;
    sum += rows;
  }
  return sum;
}

function encodeHead(damage: readonly FrameDamage[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEAD_BYTES + damage.length * RANGE_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, VERSION, true);
  view.setUint32(8, damage.length, true);
  damage.forEach(({ offset, endOffset, rows = 0 }, at) => {
    const start = HEAD_BYTES + at * RANGE_BYTES;
    view.setBigUint64(start, BigInt(offset), true);
    view.setBigUint64(start + 8, BigInt(endOffset - offset), true);
    view.setUint32(start + 16, rows, true);
  });
  view.setUint32(CRC_OFFSET, crcOf(bytes), true);
  return bytes;
}

function rangesIn(head: Uint8Array, path: string): number {
  const view = viewOf(head);
  if (view.getUint32(0, true) !== MAGIC) throw corrupt(path);
  const version = view.getUint16(4, true);
  if (version !== VERSION) {
    throw new OperatingError(
      "unimplemented",
      `cannot read damaged bytes in ${path}: the file has version ${version}, this program reads ` +
        `version ${VERSION}; use the release that wrote it`,
      { reason: "wal_damaged_version" },
    );
  }
  const count = view.getUint32(8, true);
  if (count > RANGES_MAX) throw corrupt(path);
  return count;
}

function decodeRanges(bytes: Uint8Array, count: number): FrameDamage[] {
  const view = viewOf(bytes);
  return Array.from({ length: count }, (_, at) => {
    const start = HEAD_BYTES + at * RANGE_BYTES;
    const offset = Number(view.getBigUint64(start, true));
    const rows = view.getUint32(start + 16, true);
    return {
      offset,
      endOffset: offset + Number(view.getBigUint64(start + 8, true)),
      rows: rows === 0 ? undefined : rows,
    };
  });
}

/** A file from `start` on. */
function partOf(file: ReadableFile, start: number): ReadableFile {
  return {
    readAt: (into, offset) => file.readAt(into, start + offset),
    size: async () => await file.size() - start,
    close: () => file.close(),
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
  };
}

function crcOf(bytes: Uint8Array): number {
  return crc32(bytes.subarray(CRC_OFFSET + 4), crc32(bytes.subarray(0, CRC_OFFSET)));
}

function corrupt(path: string): OperatingError {
  return new OperatingError(
    "corrupt",
    `cannot read ${path}: it is no file of damaged bytes of a WAL segment, or it is damaged itself`,
    { reason: "wal_damaged_corrupt" },
  );
}
