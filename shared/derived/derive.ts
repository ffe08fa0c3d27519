/** Everything that is derived of a data file: one builder each. */

import type { Blob, BlobBuilder, FileRows } from "./types.ts";

const BUILDERS: readonly BlobBuilder[] = [];

/** Pure; a file of 100,000 rows takes a good part of a second. */
export function derive(file: FileRows): Blob[] {
  return BUILDERS.flatMap((build) => build(file));
}
