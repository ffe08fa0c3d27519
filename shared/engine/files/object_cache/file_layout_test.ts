import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Column } from "../../../schema/schema.ts";
import type { ColumnChunk, FilePlace, ParquetFooter } from "../../../parquet/footer.ts";
import { FileLayout, READ_AHEAD_BYTES } from "./file_layout.ts";

const BYTES = 100_000;
const FOOTER_BYTES = 2_000;

function column(id: number): Column {
  return { id, name: `c${id}`, type: "long", required: true };
}

/**
 * Two row groups of ten rows with columns 1 and 2: [4, 10_004), [20_000, 30_000), and the same
 * 40,000 further.
 */
function footer(
  changes: Partial<ColumnChunk> = {},
  places: readonly number[] = [4, 20_000],
): ParquetFooter {
  const rowGroups = [0, 1].map((group) => ({
    firstRow: group * 10,
    rows: 10,
    offset: 0,
    byteLength: 0,
    timestampMin: undefined,
    timestampMax: undefined,
    timestampNsMin: undefined,
    timestampNsMax: undefined,
    columns: places.map((place, at): ColumnChunk => ({
      fieldId: at + 1,
      name: `c${at + 1}`,
      isNested: false,
      stored: undefined,
      dataOffset: place + group * 40_000,
      offsetIndex: undefined,
      offset: place + group * 40_000,
      byteLength: 10_000,
      sum: undefined,
      bytesDecompressed: 30_000,
      values: 10,
      nulls: 0,
      min: undefined,
      max: undefined,
      pageIndex: [],
      bloomFilter: undefined,
      ...changes,
    })),
  }));
  return { rows: 20, byteLength: FOOTER_BYTES, isOwn: false, rowGroups };
}

const TAIL = { start: BYTES - FOOTER_BYTES, end: BYTES };
const EVERYTHING = [{ start: 0, end: BYTES }];
const chunk = (start: number, end = start + 10_000) => ({ start, end: end + READ_AHEAD_BYTES });

Deno.test({
  name: "FileLayout.scanned asks for the footer and just the chunks of the columns and row groups",
  fn: () => {
    const layout = new FileLayout(footer(), BYTES);
    deepStrictEqual(layout.scanned([], undefined), [TAIL]);
    deepStrictEqual(layout.scanned([column(9)], undefined), [TAIL]);
    deepStrictEqual(layout.scanned([column(2)], undefined), [TAIL, chunk(20_000), chunk(60_000)]);
    deepStrictEqual(layout.scanned([column(1)], { first: 9, end: 10 }), [TAIL, chunk(4)]);
    deepStrictEqual(layout.scanned([column(1)], { first: 10, end: 11 }), [TAIL, chunk(40_004)]);
    deepStrictEqual(layout.scanned([column(1)], { first: 9, end: 11 }), [
      TAIL,
      chunk(4),
      chunk(40_004),
    ]);
  },
});

Deno.test({
  name: "FileLayout.scanned takes the bytes that lie between a chunk and its neighbour",
  fn: () => {
    const layout = new FileLayout(footer({}, [4, 12_000]), BYTES);
    deepStrictEqual(layout.scanned([column(1)], { first: 0, end: 1 }), [TAIL, chunk(4, 12_000)]);
  },
});

Deno.test({
  name: "FileLayout.scanned asks for the whole file where it cannot prove what is read",
  fn: async (t) => {
    const cases: Record<string, ParquetFooter> = {
      "nested columns": footer({ isNested: true }),
      "columns without ids": footer({ fieldId: undefined }),
      "chunks that overlap": footer({}, [4, 9_000]),
      "a chunk past the end": footer({}, [4, 55_000]),
      "a Bloom filter of unknown length": footer({
        bloomFilter: { offset: 90_000, byteLength: 0 },
      }),
    };
    for (const [name, of] of Object.entries(cases)) {
      await t.step(name, () => {
        deepStrictEqual(new FileLayout(of, BYTES).scanned([column(1)], undefined), EVERYTHING);
      });
    }
  },
});

Deno.test({
  name: "FileLayout.scanned takes a Bloom filter with its chunk, and no page index",
  fn: () => {
    const bloomFilter: FilePlace = { offset: 90_000, byteLength: 500 };
    const of = footer();
    const [first] = of.rowGroups;
    const [own, ...others] = first?.columns ?? [];
    ok(first !== undefined && own !== undefined);
    const pageIndex = [{ offset: 91_000, byteLength: 50, sum: undefined }];
    const groups = [{ ...first, columns: [{ ...own, bloomFilter, pageIndex }, ...others] }];
    const layout = new FileLayout({ ...of, rowGroups: groups }, BYTES);
    deepStrictEqual(layout.scanned([column(1)], undefined), [
      TAIL,
      chunk(4),
      // What lies between it and the page index is little, so it is taken for its own.
      { start: 90_000, end: 91_000 + READ_AHEAD_BYTES },
    ]);
    deepStrictEqual(layout.classify({ start: 89_000, end: 98_100 }), {
      footer: 100,
      index: 550,
      data: 0,
      other: 8_450,
    });
  },
});

Deno.test({
  name: "FileLayout.classify tells each byte once",
  fn: () => {
    const layout = new FileLayout(footer(), BYTES);
    deepStrictEqual(layout.classify({ start: 0, end: BYTES }), {
      footer: FOOTER_BYTES,
      index: 0,
      data: 40_000,
      other: BYTES - FOOTER_BYTES - 40_000,
    });
    const overlapping = new FileLayout(footer({}, [4, 9_000]), BYTES).classify({
      start: 0,
      end: BYTES,
    });
    strictEqual(overlapping.data, 2 * 18_996);
    strictEqual(Object.values(overlapping).reduce((sum, bytes) => sum + bytes), BYTES);
  },
});
