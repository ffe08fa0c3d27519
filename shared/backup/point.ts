/**
 * A point of a backup: what it says, its name and its bytes. README.md of this folder has the
 * format. Pure.
 */

import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { z } from "zod";
import { concatBytes, textOf, utf8 } from "../base/bytes.ts";
import { messageOf, OperatingError } from "../base/errors.ts";
import type { CatalogCopy, CopiedRows } from "../catalog/catalog_copy.ts";

const POINT_FORMAT = 1;
export const POINTS_PREFIX = "points/";
/** A point that unpacks to more is refused: ten million files have as much. */
const POINT_BYTES_MAX = 2 * 1024 * 1024 * 1024;
/** Lines that are packed at a time. */
const LINES_AT_ONCE = 10_000;
const POINT_KEY = /^points\/(\d{8}T\d{9}Z-([0-9a-f]{16}))\.ndjson\.gz$/;
const SUM_DIGITS = 16;

const SUM = z.string().regex(/^[0-9a-f]{64}$/);
const STORED = { sum: SUM, bytes: z.int().min(0) };
const NAME = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,255}$/);

const HEAD = z.strictObject({
  format: z.literal(POINT_FORMAT),
  release: z.string(),
  momentMs: z.int(),
  rootUri: z.string(),
});
const FILE = z.strictObject({ key: z.string(), modifiedMs: z.number(), ...STORED });
/**
 * Files of a lane: segments by state, the damaged original of one, the damaged bytes of one that
 * was drained, and idempotency keys.
 */
const SEGMENT_KINDS = ["active", "sealed", "poison", "torn", "damaged", "keys"] as const;
const SEGMENT = z.strictObject({
  tenant: NAME,
  index: NAME,
  kind: z.enum(SEGMENT_KINDS),
  name: NAME,
  ...STORED,
});
const ROWS = z.strictObject({
  table: z.string(),
  columns: z.array(z.string()),
  rows: z.array(z.array(z.string().nullable())),
});
const LINE = z.union([
  z.strictObject({ point: HEAD }),
  z.strictObject({ catalog: ROWS }),
  z.strictObject({ file: FILE }),
  z.strictObject({ segment: SEGMENT }),
  z.strictObject({ end: z.strictObject({ lines: z.int() }) }),
]);
type Line = z.infer<typeof LINE>;

/** SHA-256 and length of what is stored. */
export interface StoredSum {
  readonly sum: string;
  readonly bytes: number;
}

/** An object of the warehouse; `modifiedMs` as its store told when it was copied. */
export type BackedUpFile = z.infer<typeof FILE>;

/** A file of the WAL. */
export type BackedUpSegment = z.infer<typeof SEGMENT>;

export interface Point {
  /** When the catalog was read, Unix milliseconds. */
  readonly momentMs: number;
  /** The warehouse that it is of. */
  readonly rootUri: string;
  readonly release: string;
  readonly catalog: CatalogCopy;
  readonly files: readonly BackedUpFile[];
  readonly segments: readonly BackedUpSegment[];
}

/** A point's name, of which later ones are greater, and the bytes of its file. */
export interface EncodedPoint {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Named so that it follows `after`, the newest point there is, also when a clock stepped back. */
export function encodePoint(point: Point, after?: string): EncodedPoint {
  const parts: Uint8Array[] = [];
  let lines: string[] = [];
  let count = 0;
  const flush = () => {
    // Gzip files one after the other are one.
    if (lines.length > 0) parts.push(gzipSync(utf8(`${lines.join("\n")}\n`)));
    lines = [];
  };
  for (const line of linesOf(point)) {
    lines.push(JSON.stringify(line));
    count += 1;
    if (lines.length === LINES_AT_ONCE) flush();
  }
  lines.push(JSON.stringify({ end: { lines: count } } satisfies Line));
  flush();
  const bytes = concatBytes(parts);
  const afterMs = after === undefined ? 0 : msOfStamp(after);
  const stamp = stampOf(Math.max(point.momentMs, afterMs + 1));
  return { name: `${stamp}-${digestOf(bytes)}`, bytes };
}

function* linesOf({ catalog, files, segments, ...head }: Point): Generator<Line> {
  yield { point: { format: POINT_FORMAT, ...head } };
  for (const table of catalog) yield { catalog: copyOf(table) };
  for (const file of files) yield { file };
  for (const segment of segments) yield { segment };
}

function copyOf({ table, columns, rows }: CopiedRows): z.infer<typeof ROWS> {
  return { table, columns: [...columns], rows: rows.map((row) => [...row]) };
}

/** `name` is the point's. Errors: `corrupt`; `unimplemented` for another format. */
export function decodePoint(name: string, bytes: Uint8Array): Point {
  const damaged = (why: string, cause?: unknown) =>
    new OperatingError(
      "corrupt",
      `Cannot read point ${name} of the backup: ${why}; restore another with --point`,
      { reason: "damaged_backup", cause },
    );
  if (!name.endsWith(`-${digestOf(bytes)}`)) throw damaged("its bytes are not those of its name");
  const files: BackedUpFile[] = [];
  const segments: BackedUpSegment[] = [];
  const catalog: CopiedRows[] = [];
  let head: z.infer<typeof HEAD> | undefined;
  let count = 0;
  let isWhole = false;
  try {
    for (
      const text of textOf(gunzipSync(bytes, { maxOutputLength: POINT_BYTES_MAX })).split("\n")
    ) {
      if (text === "") continue;
      const json: unknown = JSON.parse(text);
      if (count === 0) refuseOtherFormat(json, name);
      const line = LINE.parse(json);
      if ("point" in line) head = line.point;
      else if ("catalog" in line) catalog.push(line.catalog);
      else if ("file" in line) files.push(line.file);
      else if ("segment" in line) segments.push(line.segment);
      else isWhole = line.end.lines === count;
      count += 1;
    }
  } catch (error) {
    if (error instanceof OperatingError) throw error;
    throw damaged(messageOf(error), error);
  }
  if (head === undefined || !isWhole) throw damaged("it is not whole");
  const { format: _format, ...rest } = head;
  return { ...rest, catalog, files, segments };
}

function refuseOtherFormat(json: unknown, name: string): void {
  const format = (json as { point?: { format?: unknown } } | null)?.point?.format;
  if (format === undefined || format === POINT_FORMAT) return;
  throw new OperatingError(
    "unimplemented",
    `Cannot read point ${name} of the backup: its format is ${
      String(format)
    }, this program reads ${POINT_FORMAT}; ` +
      "use the release that made it, or a newer one",
    { reason: "backup_format" },
  );
}

/** Key of the point called `name`. */
export function pointKey(name: string): string {
  return `${POINTS_PREFIX}${name}.ndjson.gz`;
}

/** The point's name; undefined for any other key. */
export function pointOfKey(key: string): string | undefined {
  return POINT_KEY.exec(key)?.[1];
}

function stampOf(ms: number): string {
  return new Date(ms).toISOString().replaceAll(/[-:.]/g, "");
}

/** Unix milliseconds that a point's name begins with. */
function msOfStamp(name: string): number {
  const [, year, month, day, hour, minute, second, ms] =
    /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z/.exec(name) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`) || 0;
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, SUM_DIGITS);
}
