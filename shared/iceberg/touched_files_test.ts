/** Which deletes apply to which data file, case by case as Iceberg's "Scan Planning" has it. */

import assert from "node:assert/strict";
import { utf8 } from "../base/bytes.ts";
import type { DeleteContent, ManifestEntry } from "./manifest.ts";
import { DELETE_COLUMN_IDS, DeleteIndex } from "./touched_files.ts";

const LOCATION = "s3://b/t/data/d.parquet";

interface Case {
  readonly day?: number;
  readonly specId?: number;
  readonly sequence: bigint;
  readonly deletes?: Partial<DeleteContent>;
  readonly paths?: readonly [string, string];
}

function entryOf({ day = 7, sequence, deletes, paths }: Case): ManifestEntry {
  const bounds = (path: string | undefined) =>
    new Map(path === undefined ? [] : [[DELETE_COLUMN_IDS.path, utf8(path)]]);
  return {
    status: 1,
    snapshotId: 1n,
    sequenceNumber: sequence,
    fileSequenceNumber: sequence,
    file: {
      key: "k",
      location: LOCATION,
      day,
      rows: 3,
      byteLength: 9,
      lowerBounds: bounds(paths?.[0]),
      upperBounds: bounds(paths?.[1]),
      ...(deletes === undefined
        ? {}
        : { deletes: { kind: "position", equalityIds: [], dataLocation: undefined, ...deletes } }),
    } as unknown as ManifestEntry["file"],
  };
}

const CASES: readonly (readonly [name: string, one: Case, applies: boolean])[] = [
  ["positions of the same commit", { sequence: 5n, deletes: {} }, true],
  ["positions of a later commit", { sequence: 6n, deletes: {} }, true],
  ["positions of an earlier commit", { sequence: 4n, deletes: {} }, false],
  ["values of the same commit", { sequence: 5n, deletes: { kind: "equality" } }, false],
  ["values of a later commit", { sequence: 6n, deletes: { kind: "equality" } }, true],
  ["another day", { sequence: 6n, day: 8, deletes: {} }, false],
  ["another partition spec", { sequence: 6n, specId: 1, deletes: {} }, false],
  ["another data file", { sequence: 6n, deletes: { dataLocation: "s3://b/t/data/e" } }, false],
  ["this data file", { sequence: 6n, deletes: { dataLocation: LOCATION } }, true],
  ["paths behind", { sequence: 6n, deletes: {}, paths: ["s3://b/t/data/e", "s3://b/z"] }, false],
  ["paths before", { sequence: 6n, deletes: {}, paths: ["s3://a", "s3://b/t/data/c"] }, false],
  ["a path that is cut", { sequence: 6n, deletes: {}, paths: ["s3://b/t", "s3://b/u"] }, true],
];

Deno.test({
  name: "deletes apply by partition, sequence number and path",
  fn() {
    const data = { entry: entryOf({ sequence: 5n }), specId: 0 };
    for (const [name, one, applies] of CASES) {
      const index = new DeleteIndex([{ entry: entryOf(one), specId: one.specId ?? 0 }]);
      assert.equal(index.of(data).length, applies ? 1 : 0, name);
    }
  },
});
