/**
 * Whether a stored file holds the bytes that were written: data files, sidecars, roll-ups,
 * manifests, manifest lists and table metadata. Every byte is read, a block at a time.
 *
 * What bytes are held against: README.md, "Checksums". A file of an earlier version or of another
 * program has no sums. It is read all the same, so an error of the disk shows, and nothing is said
 * of its contents (`isSummed: false`).
 */

import { type Damage, damagedFile, isDamagedFile } from "../base/damaged_file.ts";
import { isOperatingError, messageOf } from "../base/errors.ts";
import { sumInName } from "../base/summed_uuid.ts";
import { readPuffin } from "../derived/sidecar.ts";
import { type ParquetFooter, readFooter } from "../parquet/footer.ts";
import { type CheckedPlace, damageOf, summedPlaces } from "../parquet/summed_places.ts";
import type { ReadableStore } from "../storage/object_store.ts";
import type { ReadBytes } from "../storage/read_steps.ts";
import { sumOfRange } from "../storage/sum_of_range.ts";

/** A file, and what is recorded of it elsewhere: a data file's size and rows by its manifest. */
export interface RecordedFile {
  /** Key in the store. It tells the kind of file, and for most kinds a checksum. */
  readonly key: string;
  readonly byteLength?: number;
  readonly rows?: number;
}

/** What was found. A file without damage is intact as far as it has sums. */
export interface FileCheck {
  /** Bytes that the file has. */
  readonly byteLength: number;
  /** In the order of the file, `DAMAGES_MAX` at most. Empty: none was found. */
  readonly damage: readonly Damage[];
  /** Whether the file's contents have sums: each byte that an answer can depend on. */
  readonly isSummed: boolean;
}

export interface VerifyOptions {
  /** Called before so many bytes are read: it may wait, or throw to give up. */
  readonly pace?: (bytes: number) => Promise<void> | void;
}

const DAMAGES_MAX = 100;

/**
 * Reads the whole file of `key` in `store`, and tells what of it is damaged. Memory: a block of
 * 1 MiB, and the footer. Errors: the store's, among them `not_found`, and those of `pace`; damage
 * is no error.
 */
export async function verifyFile(
  store: Pick<ReadableStore, "head" | "getRange">,
  file: RecordedFile,
  { pace }: VerifyOptions = {},
): Promise<FileCheck> {
  const info = await store.head(file.key);
  const { size } = info;
  const getRange: ReadableStore["getRange"] = async (key, offset, length) => {
    await pace?.(length);
    return await store.getRange(key, offset, length);
  };
  const read: ReadBytes = (offset, length) =>
    getRange(file.key, offset, Math.min(length, size - offset));
  const { damage, isSummed } = await partsOf({
    head: () => Promise.resolve(info),
    getRange,
    read,
    size,
  }, file);
  const wrongSize = file.byteLength === undefined || file.byteLength === size ? [] : [{
    offset: Math.min(size, file.byteLength),
    byteLength: Math.abs(size - file.byteLength),
    what: `the end of a file that has ${size} bytes and should have ${file.byteLength}`,
  }];
  return { byteLength: size, damage: [...damage, ...wrongSize].slice(0, DAMAGES_MAX), isSummed };
}

/**
 * Errors: `damaged_file` for a file of which anything is damaged; otherwise as `verifyFile`. To be
 * called before what is read of the file is written elsewhere.
 */
export async function requireIntact(
  store: Pick<ReadableStore, "head" | "getRange">,
  file: RecordedFile,
): Promise<void> {
  const { damage: [first] } = await verifyFile(store, file);
  if (first !== undefined) throw damagedFile(file.key, first);
}

interface Source extends Pick<ReadableStore, "head" | "getRange"> {
  readonly read: ReadBytes;
  readonly size: number;
}

type Found = Pick<FileCheck, "damage" | "isSummed">;

function partsOf(source: Source, file: RecordedFile): Promise<Found> {
  if (file.key.endsWith(".parquet")) return checkParquet(source, file);
  if (file.key.endsWith(".puffin")) return checkPuffin(source, file);
  return checkWhole(source, file);
}

async function checkParquet(source: Source, { key, rows }: RecordedFile): Promise<Found> {
  let footer: ParquetFooter;
  try {
    footer = await readFooter(source, key, source.size);
  } catch (error) {
    return { damage: [damageIn(error, source.size)], isSummed: sumInName(key) !== undefined };
  }
  const places = summedPlaces(footer);
  const damage = await damagedAmong(source, places);
  if (rows !== undefined && footer.rows !== rows) {
    const what = `a file that has ${footer.rows} rows and should have ${rows}`;
    damage.push({ offset: 0, byteLength: source.size, what });
  }
  if (places.length > 0 || footer.rows === 0) return { damage, isSummed: true };
  await sumOfRange(source.read, { offset: 0, byteLength: source.size });
  return { damage, isSummed: false };
}

async function checkPuffin(source: Source, { key }: RecordedFile): Promise<Found> {
  try {
    const { blobs } = await readPuffin(source, key);
    const places = blobs.flatMap(({ type, offset, length, sum }): CheckedPlace[] =>
      sum === undefined ? [] : [{ offset, byteLength: length, sum, what: `the blob ${type}` }]
    );
    const isSummed = places.length === blobs.length;
    if (!isSummed) await sumOfRange(source.read, { offset: 0, byteLength: source.size });
    return { damage: await damagedAmong(source, places), isSummed };
  } catch (error) {
    return { damage: [damageIn(error, source.size)], isSummed: true };
  }
}

async function checkWhole({ read, size }: Source, { key }: RecordedFile): Promise<Found> {
  const whole = { offset: 0, byteLength: size };
  const { sum } = await sumOfRange(read, whole);
  const expected = sumInName(key);
  const isIntact = expected === undefined || sum === expected;
  return {
    damage: isIntact ? [] : [{ ...whole, what: "the file" }],
    isSummed: expected !== undefined,
  };
}

async function damagedAmong({ read }: Source, places: readonly CheckedPlace[]): Promise<Damage[]> {
  const damaged: Damage[] = [];
  for (const place of places) {
    const { sum, byteLength } = await sumOfRange(read, place);
    if (sum !== place.sum || byteLength !== place.byteLength) damaged.push(damageOf(place));
  }
  return damaged;
}

/** What an error of a footer says; others are thrown on. */
function damageIn(error: unknown, size: number): Damage {
  if (!isOperatingError(error, "corrupt")) throw error;
  const { offset, bytes } = error.details ?? {};
  if (isDamagedFile(error) && typeof offset === "number" && typeof bytes === "number") {
    return { offset, byteLength: bytes, what: "the footer" };
  }
  return { offset: 0, byteLength: size, what: `the file: ${messageOf(error)}` };
}
