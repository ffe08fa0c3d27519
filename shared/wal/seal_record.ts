/**
 * What a lane expects in `sealed/`: a record for each segment, `expected/<segment>`, written before
 * the segment is sealed and removed when it was drained or set aside. So a sealed segment that
 * disappears before that is noticed, whoever was running then.
 *
 * The ingester writes records, whoever moves a segment out of `sealed/` removes them. A record is
 * one line of JSON: the rows and the bytes that were sealed, and the times of its rows. So a reader
 * of other times needs none of its frames. It is not synced: what a power failure takes of the
 * records makes the check miss something, and never raise a false alarm.
 */

import { crc32, textOf, utf8 } from "../base/bytes.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { File, FileSystem, ReadableFiles } from "../os/file_system.ts";
import {
  expectedDirectory,
  expectedPath,
  SEGMENT_STATES,
  segmentNamesIn,
  stateDirectory,
} from "./layout.ts";
import { removeIfPresent } from "./transfer.ts";
import type { FrameTimes, MissingSegment } from "./types.ts";

/** What a segment held when it was sealed. */
export interface SealRecord {
  readonly rows: number;
  readonly bytes: number;
  /** Times of all rows that were acknowledged; undefined where some of them cannot be read. */
  readonly times?: FrameTimes | undefined;
}

/** Writes the record of a segment that is about to be sealed for the first time. */
export async function writeSealRecord(
  fs: FileSystem,
  root: string,
  { lane, name, ...record }: SealRecord & { readonly lane: LaneId; readonly name: string },
): Promise<void> {
  const path = expectedPath(root, lane, name);
  await using file = await createAnew(fs, expectedDirectory(root, lane), path);
  await file.write(encodeRecord(record));
}

async function createAnew(fs: FileSystem, directory: string, path: string): Promise<File> {
  try {
    return await fs.create(path);
  } catch (error) {
    // A lane of an earlier release, or one that somebody tidied up, lacks the folder.
    if (error instanceof Deno.errors.NotFound) await fs.mkdir(directory);
    // A sealing that failed half way has left a record.
    else if (error instanceof Deno.errors.AlreadyExists) await removeIfPresent(fs, path);
    else throw error;
    return await fs.create(path);
  }
}

/**
 * Makes `record` what is known of the segment, durably, as an earlier one may say something else;
 * undefined: nothing is expected.
 */
export async function replaceSealRecord(
  fs: FileSystem,
  root: string,
  { lane, name, record }: {
    readonly lane: LaneId;
    readonly name: string;
    readonly record: SealRecord | undefined;
  },
): Promise<void> {
  const path = expectedPath(root, lane, name);
  if (record !== undefined) {
    await fs.mkdir(expectedDirectory(root, lane));
    await fs.writeFileAtomic(path, encodeRecord(record));
  } else if (await removeIfPresent(fs, path)) {
    await fs.syncDir(expectedDirectory(root, lane));
  }
}

/** Undefined where there is none, or a power failure took its text. */
export async function readSealRecord(
  fs: ReadableFiles,
  root: string,
  { lane, name }: { readonly lane: LaneId; readonly name: string },
): Promise<SealRecord | undefined> {
  try {
    return decodeRecord(await fs.readFile(expectedPath(root, lane, name)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The segment was drained or set aside: nobody misses it any more. */
export async function removeSealRecord(
  fs: FileSystem,
  root: string,
  { lane, name }: { readonly lane: LaneId; readonly name: string },
): Promise<void> {
  await removeIfPresent(fs, expectedPath(root, lane, name));
}

/**
 * Segments that have a record and are in no folder, and which `consumedOf` does not know: nobody
 * drained them. Oldest first.
 *
 * Records are listed first, then the folders in the order in which a segment passes them, then the
 * catalog. A segment that moves on meanwhile is met later. What was drained and swept by then has
 * no record any more, so each suspect's record is looked at again.
 */
export async function missingSegments(
  fs: ReadableFiles,
  root: string,
  { lane, consumedOf }: {
    readonly lane: LaneId;
    readonly consumedOf: (names: readonly string[]) => Promise<ReadonlySet<string>>;
  },
): Promise<MissingSegment[]> {
  const expected = await segmentNamesIn(fs, expectedDirectory(root, lane));
  if (expected.length === 0) return [];
  const here = new Set<string>();
  for (const state of SEGMENT_STATES) {
    for (const name of await segmentNamesIn(fs, stateDirectory(root, lane, state))) here.add(name);
  }
  const suspects = expected.filter((name) => !here.has(name));
  if (suspects.length === 0) return [];
  const consumed = await consumedOf(suspects);
  const missing: MissingSegment[] = [];
  for (const name of suspects) {
    if (consumed.has(name) || !await fs.exists(expectedPath(root, lane, name))) continue;
    const { rows, bytes } = await readSealRecord(fs, root, { lane, name }) ?? {};
    missing.push({ name, rows, bytes });
  }
  return missing;
}

function encodeRecord({ rows, bytes, times }: SealRecord): Uint8Array<ArrayBuffer> {
  const told = times === undefined
    ? {}
    : { timestamp_ns: [`${times.timestampNsMin}`, `${times.timestampNsMax}`] };
  const fields = JSON.stringify({ version: 1, rows, bytes, ...told });
  return utf8(`${fields.slice(0, -1)},"crc":${crc32(utf8(fields))}}\n`);
}

function decodeRecord(content: Uint8Array): SealRecord | undefined {
  let text: string;
  let value: unknown;
  try {
    text = textOf(content);
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { version, rows, bytes, timestamp_ns: times, crc } = value as Record<string, unknown>;
  if (version !== 1 || typeof rows !== "number" || typeof bytes !== "number") return undefined;
  // Earlier releases wrote no sum, and no times. Rows and bytes are compared with what is read.
  if (crc === undefined) return { rows, bytes };
  const fields = text.slice(0, text.lastIndexOf(",")) + "}";
  if (crc !== crc32(utf8(fields))) return undefined;
  return { rows, bytes, times: timesOf(times) };
}

function timesOf(value: unknown): FrameTimes | undefined {
  if (!Array.isArray(value)) return undefined;
  const [first, last] = value;
  return { timestampNsMin: BigInt(first), timestampNsMax: BigInt(last) };
}
