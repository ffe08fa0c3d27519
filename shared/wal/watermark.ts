/**
 * What consumers publish beside the segments, and which committed segments that holds back. The
 * rules are docs/api/follow.md#wal-consumers; the file is `<lane>/consumers/<id>.json`.
 */

import { join } from "node:path";
import { textOf, utf8 } from "../base/bytes.ts";
import type { FileSystem, ReadableFiles } from "../os/file_system.ts";
import { dirEntriesOf, isConsumerFile, isSegmentName } from "./layout.ts";

/** A committed segment is kept at least so long. */
const RETENTION_FLOOR_MS = 60_000;
/** A consumer that never committed holds segments so long after it opened. */
const FRESH_HOLD_MS = 3_600_000;
/** A watermark that did not change for so long holds nothing any more. */
const STALE_AFTER_MS = 300_000;

/** How far a consumer is, as it tells the sweep. */
export interface Watermark {
  /** Unix ms at which the consumer first opened. */
  readonly openedMs: number;
  /** Every segment up to this name is processed; null before the first commit. */
  readonly upTo: string | null;
  /** Unix ms at which `upTo` last changed. */
  readonly movedMs: number;
}

/** Whether a committed segment may go: older than the floor and held by no consumer. */
export function isSweepable(
  segment: { name: string; committedMs: number },
  watermarks: readonly Watermark[],
  nowMs: number,
): boolean {
  if (nowMs - segment.committedMs < RETENTION_FLOOR_MS) return false;
  return !watermarks.some((watermark) => holds(watermark, segment.name, nowMs));
}

function holds(watermark: Watermark, name: string, nowMs: number): boolean {
  if (watermark.upTo === null) return nowMs - watermark.openedMs < FRESH_HOLD_MS;
  return watermark.upTo < name && nowMs - watermark.movedMs < STALE_AFTER_MS;
}

/**
 * Every watermark in a consumers directory. A file that is none counts as a fresh consumer that
 * opened when it was written: it holds segments for a while, not forever.
 */
export async function readWatermarks(fs: ReadableFiles, directory: string): Promise<Watermark[]> {
  const watermarks: Watermark[] = [];
  for (const { name, isFile } of await dirEntriesOf(fs, directory)) {
    if (!isFile || !isConsumerFile(name)) continue;
    const path = join(directory, name);
    try {
      const { mtimeMs } = await fs.stat(path);
      watermarks.push(
        decodeWatermark(await fs.readFile(path)) ??
          { openedMs: mtimeMs, upTo: null, movedMs: mtimeMs },
      );
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // Its consumer withdrew it.
    }
  }
  return watermarks;
}

/** The watermark at `path`; undefined when there is no file, null when it is no watermark. */
export async function readWatermark(
  fs: ReadableFiles,
  path: string,
): Promise<Watermark | null | undefined> {
  try {
    return decodeWatermark(await fs.readFile(path)) ?? null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Replaces the watermark at `path`, durably. */
export function writeWatermark(fs: FileSystem, path: string, watermark: Watermark): Promise<void> {
  return fs.writeFileAtomic(path, utf8(`${JSON.stringify({ version: 1, ...watermark })}\n`));
}

function decodeWatermark(bytes: Uint8Array): Watermark | undefined {
  let value: unknown;
  try {
    value = JSON.parse(textOf(bytes));
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { version, openedMs, upTo, movedMs } = value as Record<string, unknown>;
  if (version !== 1 || typeof openedMs !== "number" || typeof movedMs !== "number") {
    return undefined;
  }
  if (upTo !== null && !(typeof upTo === "string" && isSegmentName(upTo))) return undefined;
  return { openedMs, upTo, movedMs };
}
