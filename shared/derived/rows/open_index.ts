/** An index of a data file, opened: its header is kept in memory, and its blocks are read. */

import { OperatingError } from "../../base/errors.ts";
import { memoizeIn } from "../../base/memoize.ts";
import { runSteps, soon, type SoonSteps } from "../../base/steps.ts";
import type { TableSchema } from "../../schema/schema.ts";
import type { BlobPlace } from "../puffin.ts";
import { HEADER_BYTES_PROPERTY } from "../text/words_format.ts";
import type { ReadPart } from "../text/words_index.ts";
import type { IndexedFile, OpenedIndex } from "./indexed_file.ts";

/** A blob of no more bytes, header and blocks, is read whole at once, and kept. */
const WHOLE_BYTES_MAX = 16 * 1024;

export interface SomeIndex {
  readonly rows: number;
  readonly rowGroupRows: number;
  readonly byteLength: number;
}

/** Made from its header, and the type of its blob. */
type IndexClass<T> = new (header: Uint8Array, type: string) => T;

export interface WantedIndex<T> {
  readonly types: readonly string[];
  readonly column: string;
  readonly Index: IndexClass<T>;
}

interface LoadedIndex<T> extends OpenedIndex {
  readonly index: T;
  /** The whole blob, where it is small. */
  readonly whole: Uint8Array | undefined;
}

export interface Opened<T> {
  readonly index: T;
  readonly read: ReadPart;
  /** The column's. */
  readonly id: number;
  readonly place: BlobPlace;
}

/** Where a file has such an index. */
export interface IndexPlace {
  readonly id: number;
  readonly place: BlobPlace;
}

/** Undefined: the column has none in the file. */
export function placeOfIndex<T>(
  file: IndexedFile,
  { types, column }: WantedIndex<T>,
): IndexPlace | undefined {
  const id = idsOf(file.schema).get(column);
  const place = id === undefined
    ? undefined
    : file.blobs.find(({ type, fields }) => types.includes(type) && fields.includes(id));
  return id === undefined || place === undefined ? undefined : { id, place };
}

/** Errors: `corrupt`; `file`'s. */
export function* openIndex<T extends SomeIndex>(
  file: IndexedFile,
  { id, place }: IndexPlace,
  Index: IndexClass<T>,
): SoonSteps<Opened<T>> {
  const { index, whole } = yield* soon(
    file.open(place, () => runSteps(loadedIndex(file, place, Index))),
  );
  return { index, id, place, read: reader(file, place, whole) };
}

function* loadedIndex<T extends SomeIndex>(
  file: IndexedFile,
  place: BlobPlace,
  Index: IndexClass<T>,
): SoonSteps<LoadedIndex<T>> {
  const headerBytes = headerBytesOf(place);
  const isSmall = headerBytes < place.length && place.length <= WHOLE_BYTES_MAX;
  const length = isSmall ? place.length : headerBytes;
  // A copy: the index keeps it.
  const bytes = (yield* soon(file.read(place, { offset: 0, length }))).slice();
  const index = new Index(bytes.subarray(0, headerBytes), place.type);
  if (index.rows !== file.rows) {
    throw unusableIndex(`is of ${index.rows} rows, not of ${file.rows}`);
  }
  return {
    index,
    whole: isSmall ? bytes : undefined,
    byteLength: index.byteLength + (isSmall ? bytes.byteLength : 0),
  };
}

function reader(file: IndexedFile, place: BlobPlace, whole: Uint8Array | undefined): ReadPart {
  return (offset, length) => {
    if (offset + length > place.length) throw unusableIndex("ends within a block");
    return whole?.subarray(offset, offset + length) ?? file.read(place, { offset, length });
  };
}

/** The ids of columns by their names. */
const idsOf = memoizeIn(
  new WeakMap<TableSchema, ReadonlyMap<string, number>>(),
  ({ columns }) => new Map(columns.map(({ name, id }) => [name, id])),
);

function headerBytesOf({ properties, length }: BlobPlace): number {
  const bytes = Number(properties[HEADER_BYTES_PROPERTY]);
  if (Number.isInteger(bytes) && bytes > 0 && bytes <= length) return bytes;
  throw unusableIndex(`has a header of ${properties[HEADER_BYTES_PROPERTY]} bytes`);
}

/** The error of an index that cannot be used, which tells why. */
export function unusableIndex(why: string): OperatingError {
  return new OperatingError("corrupt", `Cannot use an index that ${why}`);
}
