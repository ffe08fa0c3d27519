/**
 * What is kept of a segment in `active/` that was not sealed in order: its intact frames, copied to
 * a new file in `sealed/`. The original goes only when the copy is durable, so that a crash
 * anywhere here leaves work that can be done again. README.md ("Recovery") says why it is a copy.
 */

import { dirname } from "node:path";
import { isOperatingError } from "../base/errors.ts";
import type { FileSystem, ReadableFile } from "../os/file_system.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { DecodedHeader } from "./format.ts";
import type { FrameKey } from "./frame_key.ts";
import { FrameScanner, readSegmentHeader } from "./frame_scanner.ts";
import { replaceKeyFile } from "./key_files.ts";
import { segmentPath, stateDirectory, temporaryPath, tornPath } from "./layout.ts";
import { linkSegment, moveSegment, removeIfPresent } from "./transfer.ts";
import type { SegmentState } from "./types.ts";

/** What was kept of a segment. */
export interface Salvaged {
  readonly lane: LaneId;
  readonly name: string;
  /**
   * `empty`: it held no frame and was removed. `moved`: it had been sealed, only its old name was
   * left.
   */
  readonly outcome: "sealed" | "empty" | "moved" | "poison";
  readonly rows: number;
  /** Bytes behind the last intact frame, which are not in the sealed copy. */
  readonly cutBytes: number;
  /**
   * Whether the original is kept as `poison/<name>.torn`, because intact frames lie behind a bad
   * one.
   */
  readonly originalKept: boolean;
  /**
   * Idempotency keys of the sealed copy's frames; undefined when the segment had been sealed
   * before.
   */
  readonly keys: readonly FrameKey[] | undefined;
}

/** Errors: `unimplemented` for a segment of another version; whatever the file system throws. */
export async function salvageSegment(
  fs: FileSystem,
  root: string,
  segment: { lane: LaneId; name: string },
): Promise<Salvaged> {
  const { lane, name } = segment;
  const pathIn = (state: SegmentState) => segmentPath(root, lane, { state, name });
  const active = pathIn("active");
  const nothing = { lane, name, rows: 0, cutBytes: 0, originalKept: false, keys: [] };
  const forgetKeys = () => replaceKeyFile(fs, root, { lane, segment: name, keys: [] });

  for (const state of ["sealed", "committed", "poison"] as const) {
    if (!await fs.exists(pathIn(state))) continue;
    await fs.syncDir(stateDirectory(root, lane, state));
    await removeIfPresent(fs, active);
    return { ...nothing, outcome: "moved", keys: undefined };
  }

  await using file = await fs.openRead(active);
  const size = await file.size();
  let header: DecodedHeader | undefined;
  try {
    header = await readSegmentHeader(file, active);
  } catch (error) {
    if (!isOperatingError(error, "corrupt")) throw error;
    await forgetKeys();
    await moveSegment(fs, active, pathIn("poison"));
    return { ...nothing, outcome: "poison" };
  }
  if (header === undefined) {
    await forgetKeys();
    await fs.remove(active);
    return { ...nothing, outcome: "empty", cutBytes: size };
  }

  const copied = await copyFrames(fs, file, {
    header,
    size,
    to: pathIn("sealed"),
    name,
    // An earlier attempt may have seen more frames than power failure left, and written their keys.
    keepKeys: (keys) => replaceKeyFile(fs, root, { lane, segment: name, keys }),
  });
  if (copied.originalKept) {
    await linkSegment(fs, active, tornPath(root, lane, name));
    await fs.syncDir(stateDirectory(root, lane, "poison"));
  }
  await fs.remove(active);
  return { ...nothing, ...copied, outcome: copied.rows === 0 ? "empty" : "sealed" };
}

/**
 * Copies the intact frames of `file` to the new segment `to`, durably; without any, creates
 * nothing.
 */
async function copyFrames(
  fs: FileSystem,
  file: ReadableFile,
  options: {
    header: DecodedHeader;
    size: number;
    to: string;
    name: string;
    keepKeys: (keys: readonly FrameKey[]) => Promise<void>;
  },
): Promise<Pick<Salvaged, "rows" | "cutBytes" | "originalKept" | "keys">> {
  const { header, size, to, name, keepKeys } = options;
  const scanner = new FrameScanner(file, {
    frameSeed: header.frameSeed,
    offset: header.byteLength,
    size,
  });
  const keys: FrameKey[] = [];
  let rows = 0;
  let frame = await scanner.next();
  if (frame !== undefined) {
    const temporary = temporaryPath(dirname(to), name);
    await removeIfPresent(fs, temporary);
    await using copy = await fs.create(temporary);
    await copy.write(header.bytes);
    for (; frame !== undefined; frame = await scanner.next()) {
      await copy.write(frame.bytes);
      rows += frame.header.rows;
      if (frame.key !== undefined) keys.push(frame.key);
    }
    await copy.sync();
    await keepKeys(keys);
    await fs.rename(temporary, to);
    await fs.syncDir(dirname(to));
  } else {
    await keepKeys(keys);
  }
  const tail = await scanner.tail();
  return { rows, cutBytes: size - scanner.offset, originalKept: tail === "followed", keys };
}
