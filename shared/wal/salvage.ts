/**
 * What is kept of a segment in `active/` that was not sealed in order: all intact frames, copied to
 * a new file in `sealed/`. The original goes only when the copy is durable, so that a crash
 * anywhere here leaves work that can be done again. README.md ("Recovery") says why it is a copy.
 */

import { dirname } from "node:path";
import { isOperatingError } from "../base/errors.ts";
import type { FileSystem, ReadableFile } from "../os/file_system.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { DecodedHeader } from "./format.ts";
import type { FrameKey } from "./frame_key.ts";
import { FrameScanner, readSegmentHeader, type SkippedBytes } from "./frame_scanner.ts";
import { replaceKeyFile } from "./key_files.ts";
import { segmentPath, stateDirectory, temporaryPath, tornPath } from "./layout.ts";
import { joinTimes } from "./frame_times.ts";
import { replaceSealRecord, type SealRecord } from "./seal_record.ts";
import { linkSegment, moveSegment, removeIfPresent } from "./transfer.ts";
import type { FrameTimes, SegmentState } from "./types.ts";

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
  /** Bytes that are no intact frame, which are not in the sealed copy. */
  readonly cutBytes: number;
  /**
   * Whether the original is kept as `poison/<name>.torn`, because intact frames lay behind a bad
   * one. They are in the copy, too.
   */
  readonly originalKept: boolean;
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
  const nothing = { lane, name, rows: 0, cutBytes: 0, originalKept: false };
  const forget = async () => {
    await replaceKeyFile(fs, root, { lane, segment: name, keys: [] });
    await replaceSealRecord(fs, root, { lane, name, record: undefined });
  };

  for (const state of ["sealed", "committed", "poison"] as const) {
    if (!await fs.exists(pathIn(state))) continue;
    await fs.syncDir(stateDirectory(root, lane, state));
    await removeIfPresent(fs, active);
    return { ...nothing, outcome: "moved" };
  }

  await using file = await fs.openRead(active);
  const size = await file.size();
  let header: DecodedHeader | undefined;
  try {
    header = await readSegmentHeader(file, active);
  } catch (error) {
    if (!isOperatingError(error, "corrupt")) throw error;
    await forget();
    await moveSegment(fs, active, pathIn("poison"));
    return { ...nothing, outcome: "poison" };
  }
  if (header === undefined) {
    await forget();
    await fs.remove(active);
    return { ...nothing, outcome: "empty", cutBytes: size };
  }

  const copied = await copyFrames(fs, file, {
    header,
    to: pathIn("sealed"),
    name,
    // An earlier attempt may have seen more frames than power failure left, and told of them.
    keep: async (keys, record) => {
      await replaceKeyFile(fs, root, { lane, segment: name, keys });
      await replaceSealRecord(fs, root, { lane, name, record });
    },
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
    to: string;
    name: string;
    keep: (keys: readonly FrameKey[], record: SealRecord | undefined) => Promise<void>;
  },
): Promise<Pick<Salvaged, "rows" | "cutBytes" | "originalKept">> {
  const { header, to, name, keep } = options;
  let cutBytes = 0;
  let originalKept = false;
  const temporary = temporaryPath(dirname(to), name);
  await removeIfPresent(fs, temporary);
  const { rows, bytes, times, keys } = await copyIntact(fs, file, {
    header,
    to: temporary,
    onDamage({ offset, endOffset, isFollowed }) {
      cutBytes += endOffset - offset;
      originalKept ||= isFollowed;
    },
  });
  if (rows > 0) {
    await keep(keys, { rows, bytes, times });
    await fs.rename(temporary, to);
    await fs.syncDir(dirname(to));
  } else {
    await keep([], undefined);
    await fs.remove(temporary);
  }
  return { rows, cutBytes, originalKept };
}

/**
 * Copies `header` and the intact frames of `file` to the new file `to`, and syncs that. Returns
 * what the copy holds.
 */
async function copyIntact(
  fs: FileSystem,
  file: ReadableFile,
  { header, to, onDamage }: {
    readonly header: DecodedHeader;
    readonly to: string;
    readonly onDamage: (damage: SkippedBytes) => void;
  },
): Promise<SealRecord & { readonly keys: readonly FrameKey[] }> {
  const scanner = new FrameScanner(file, {
    frameSeed: header.frameSeed,
    offset: header.byteLength,
    size: await file.size(),
  });
  const keys: FrameKey[] = [];
  let [rows, bytes] = [0, header.byteLength];
  let times: FrameTimes | undefined;
  await using copy = await fs.create(to);
  await copy.write(header.bytes);
  for await (const frame of scanner.intact(onDamage)) {
    await copy.write(frame.bytes);
    rows += frame.header.rows;
    bytes += frame.bytes.byteLength;
    times = joinTimes(times, frame.header);
    if (frame.key !== undefined) keys.push(frame.key);
  }
  await copy.sync();
  return { rows, bytes, times, keys };
}
