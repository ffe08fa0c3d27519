/** A data file's indexes, as a lookup of rows reaches them. */

import type { OperatingError } from "../../base/errors.ts";
import type { Soon } from "../../base/steps.ts";
import type { TableSchema } from "../../schema/schema.ts";
import type { BlobPlace } from "../puffin.ts";

/** What is kept in memory of an index. */
export interface OpenedIndex {
  readonly byteLength: number;
}

export interface IndexedFile {
  /** The schema of the table: columns are known by their ids. */
  readonly schema: TableSchema;
  /** The rows of the data file. */
  readonly rows: number;
  /** The blobs of its sidecar, or those of them that rows are found by (`LOOKUP_TYPES`). */
  readonly blobs: readonly BlobPlace[];
  /**
   * Bytes of a blob, just as many as asked for. Bytes that come at once are the caller's until it
   * reads or waits again.
   */
  read(
    place: BlobPlace,
    part: { readonly offset: number; readonly length: number },
  ): Soon<Uint8Array>;
  /** What `load` gives for this blob; a cache may give what it gave before. */
  open<T extends OpenedIndex>(place: BlobPlace, load: () => Soon<T>): Soon<T>;
  /**
   * Told of an index that cannot be used: it fails its checksum, for example. The lookup goes on
   * without it.
   */
  damaged(place: BlobPlace, error: OperatingError): void;
}
