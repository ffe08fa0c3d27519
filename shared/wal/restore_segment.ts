/** Puts a copy of a sealed segment that disappeared back where it was. */

import { dirname } from "node:path";
import { hexOf } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { FileSystem } from "../os/file_system.ts";
import type { Random } from "../os/random.ts";
import { FrameScanner, readSegmentHeader } from "./frame_scanner.ts";
import { segmentPath, temporaryPath } from "./layout.ts";
import { MemoryFile } from "./memory_file.ts";
import { readSealRecord } from "./seal_record.ts";
import { linkSegment, removeIfPresent } from "./transfer.ts";

/**
 * Makes `bytes` the sealed segment `name`, durably, if they are all of it. One that turned up
 * meanwhile stays as it is.
 */
export async function restoreSegment(
  fs: FileSystem,
  root: string,
  { lane, name, bytes, random }: {
    readonly lane: LaneId;
    readonly name: string;
    readonly bytes: Uint8Array;
    readonly random: Random;
  },
): Promise<boolean> {
  if (!await isWholeSegment(bytes, name)) return false;
  const record = await readSealRecord(fs, root, { lane, name });
  if (record !== undefined && record.bytes !== bytes.byteLength) return false;
  const sealed = segmentPath(root, lane, { state: "sealed", name });
  const directory = dirname(sealed);
  const temporary = temporaryPath(directory, `${name}.${hexOf(random.bytes(8))}`);
  await fs.mkdir(directory);
  try {
    {
      await using file = await fs.create(temporary);
      await file.write(bytes);
      await file.sync();
    }
    await linkSegment(fs, temporary, sealed);
  } finally {
    await removeIfPresent(fs, temporary);
  }
  await fs.syncDir(directory);
  return true;
}

/** Whether these are a segment without damage, as far as its frames tell. */
export async function isWholeSegment(bytes: Uint8Array, name: string): Promise<boolean> {
  await using file = new MemoryFile(bytes);
  try {
    const header = await readSegmentHeader(file, name);
    if (header === undefined) return false;
    const { frameSeed, byteLength: offset } = header;
    const scanner = new FrameScanner(file, { frameSeed, offset, size: bytes.byteLength });
    let isDamaged = false;
    for await (const _ of scanner.intact(() => isDamaged = true));
    return !isDamaged;
  } catch (error) {
    if (isOperatingError(error)) return false;
    throw error;
  }
}
