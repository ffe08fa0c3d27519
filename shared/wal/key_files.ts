/**
 * Idempotency keys of sealed segments: `keys/<segment>.keys` holds those of one segment's frames. A
 * segment may be drained and swept within a minute; its keys are remembered longer than that.
 *
 * Invariant: a segment's key file is durable before the segment is in `sealed/`, and tells exactly
 * the keys of the frames that are sealed. Only the ingester touches these files. README.md has the
 * layout.
 */

import { join } from "node:path";
import { crc32, viewOf } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { FileSystem } from "../os/file_system.ts";
import { decodeFrameKey, encodeFrameKey, FRAME_KEY_BYTES, type FrameKey } from "./frame_key.ts";
import { dirEntriesOf, keyFilePath, keysDirectory, segmentOfKeyFile } from "./layout.ts";
import { removeIfPresent } from "./transfer.ts";

const MAGIC = 0x4b435653; // "SVCK" as a little-endian u32
const VERSION = 1;
const HEADER_BYTES = 16;
const CRC_OFFSET = 12;

/** Keys of one segment. */
export interface SegmentKeys {
  readonly segment: string;
  readonly keys: readonly FrameKey[];
}

/** Makes `keys` what is known of the segment, durably; without any, there is no file. */
export async function replaceKeyFile(
  fs: FileSystem,
  root: string,
  { lane, segment, keys }: SegmentKeys & { lane: LaneId },
): Promise<void> {
  const path = keyFilePath(root, lane, segment);
  if (keys.length > 0) {
    await fs.writeFileAtomic(path, encodeKeyFile(keys));
  } else if (await removeIfPresent(fs, path)) {
    await fs.syncDir(keysDirectory(root, lane));
  }
}

/** All key files of a lane, oldest segment first. Errors: `corrupt`, `unimplemented`. */
export async function readKeyFiles(
  fs: FileSystem,
  root: string,
  lane: LaneId,
): Promise<SegmentKeys[]> {
  const directory = keysDirectory(root, lane);
  const segments = (await dirEntriesOf(fs, directory))
    .map(({ name }) => segmentOfKeyFile(name))
    .filter((segment) => segment !== undefined).sort();
  const found: SegmentKeys[] = [];
  for (const segment of segments) {
    const path = keyFilePath(root, lane, segment);
    found.push({ segment, keys: decodeKeyFile(await fs.readFile(path), path) });
  }
  return found;
}

/** The keys in a segment's file; none without a file. Errors: `corrupt`, `unimplemented`. */
export async function readKeyFile(
  fs: FileSystem,
  root: string,
  { lane, segment }: { readonly lane: LaneId; readonly segment: string },
): Promise<FrameKey[]> {
  const path = keyFilePath(root, lane, segment);
  return await fs.exists(path) ? decodeKeyFile(await fs.readFile(path), path) : [];
}

/** Removes the files of segments whose keys are forgotten; one that comes back is removed again. */
export async function removeKeyFiles(
  fs: FileSystem,
  root: string,
  { lane, segments }: { lane: LaneId; segments: readonly string[] },
): Promise<void> {
  for (const segment of segments) await removeIfPresent(fs, keyFilePath(root, lane, segment));
}

/** Removes what a crash left of a key file that was being written. */
export async function removeUnfinishedKeyFiles(
  fs: FileSystem,
  root: string,
  lane: LaneId,
): Promise<void> {
  const directory = keysDirectory(root, lane);
  for (const { name, isFile } of await dirEntriesOf(fs, directory)) {
    if (isFile && segmentOfKeyFile(name) === undefined) {
      await removeIfPresent(fs, join(directory, name));
    }
  }
}

/** The bytes of a key file with these keys. */
export function encodeKeyFile(keys: readonly FrameKey[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER_BYTES + keys.length * FRAME_KEY_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, VERSION, true);
  view.setUint32(8, keys.length, true);
  keys.forEach((key, at) => encodeFrameKey(key, bytes, HEADER_BYTES + at * FRAME_KEY_BYTES));
  view.setUint32(CRC_OFFSET, crcOf(bytes), true);
  return bytes;
}

/** Errors: `unimplemented` for another version, `corrupt` for what is no key file. */
export function decodeKeyFile(bytes: Uint8Array, where: string): FrameKey[] {
  const view = viewOf(bytes);
  if (bytes.byteLength < HEADER_BYTES || view.getUint32(0, true) !== MAGIC) {
    throw corrupt(where, "it does not begin with SVCK");
  }
  const version = view.getUint16(4, true);
  if (version !== VERSION) {
    throw new OperatingError(
      "unimplemented",
      `cannot read idempotency keys in ${where}: the file has version ${version}, this program ` +
        `reads version ${VERSION}; use the release that wrote it`,
      { reason: "wal_keys_version" },
    );
  }
  const count = view.getUint32(8, true);
  if (bytes.byteLength !== HEADER_BYTES + count * FRAME_KEY_BYTES) {
    throw corrupt(where, `it has ${bytes.byteLength} bytes for ${count} keys`);
  }
  if (crcOf(bytes) !== view.getUint32(CRC_OFFSET, true)) {
    throw corrupt(where, "it fails its checksum");
  }
  return Array.from(
    { length: count },
    (_, at) => decodeFrameKey(bytes, HEADER_BYTES + at * FRAME_KEY_BYTES),
  );
}

function crcOf(bytes: Uint8Array): number {
  return crc32(bytes.subarray(CRC_OFFSET + 4), crc32(bytes.subarray(0, CRC_OFFSET)));
}

function corrupt(where: string, why: string): OperatingError {
  return new OperatingError(
    "corrupt",
    `cannot read idempotency keys in ${where}: ${why}; remove the file to go on: a request that ` +
      `it knew is then stored again when it is repeated`,
    { reason: "wal_keys_corrupt" },
  );
}
