/**
 * Files of several row groups and pages, read by three readers that have none of the writer's code,
 * and by our own.
 */

import { DuckDBInstance } from "@duckdb/node-api";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { parquetMetadata, parquetReadObjects, readColumnIndex, readOffsetIndex } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { ALL_TYPES_SCHEMA } from "../../testing/batch_arbitrary.ts";
import type { ColumnBatch, ColumnData } from "../../columns/batch.ts";
import { rowsOfStream } from "../../columns/ipc_stream.ts";
import { batchOfRows, type ColumnValue, type RowObject, rowsOf } from "../../columns/rows.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { wasmParquet } from "../../testing/wasm_parquet.ts";
import { decodeParquet } from "../decode_parquet.ts";
import { encodeBatches, encodeStream } from "../encode_parquet.ts";
import { parquetInput } from "../parquet_input.ts";
import { batchesOf, readOwnFile } from "../reader/own_file.ts";

const SEEDS = Array.from({ length: Number(Deno.env.get("SVC_PARQUET_SEEDS") ?? 2) }, (_, at) => at);
const ROWS = 33_000;
const GROUP_ROWS = 30_000;
const OPTIONS = { schema: ALL_TYPES_SCHEMA, rowGroupRowsMax: GROUP_ROWS };
/** Texts as long as bounds are, and longer. */
const TEXTS = ["", "a", "é", "line", "x".repeat(64), "ü".repeat(40), "\u{10ffff}".repeat(20)];
const DOUBLES = [0, -0, NaN, Infinity, -Infinity, 1.5, -2.25e-300];

Deno.test("columns of words come back from other readers, row group by row group; ours leaves them out", async () => {
  const rows = rowsFor(7);
  const random = new SeededRandom(8);
  const columnOf = (name: string, id: number, sets: readonly string[], nulls: number) => ({
    column: { id, name, type: "string" as const, required: false },
    ids: Uint16Array.from(rows, () => random.chance(nulls) ? 0 : 1 + random.below(sets.length)),
    sets,
  });
  const many = Array.from({ length: 700 }, (_, n) => `|größe|${n}|`);
  const words = [
    columnOf("words:a", 1_500_000_001, ["|", "|error|", "|error|by|"], 0.1),
    columnOf("words:b", 1_500_000_002, many, 0),
    columnOf("words:c", 1_500_000_003, ["|x|"], 1),
  ];
  const file = encodeBatches(inThreeBatches(rows), { ...OPTIONS, words });
  const expected = rows.map((_, row) =>
    Object.fromEntries(
      words.map(({ column, ids, sets }) => [column.name, sets[(ids[row] as number) - 1] ?? null]),
    )
  );
  const groups = parquetMetadata(file.buffer).row_groups.map((_, at) => at);
  assert.ok(groups.length > 1);
  const columns = words.map(({ column }) => column.name);
  assert.deepEqual(
    await parquetReadObjects({ file: file.buffer, compressors, columns }),
    expected,
  );
  const decoded = rowsOfStream(decodeParquet(file, groups)).batches.flatMap(rowsOf);
  assert.deepEqual(
    decoded.map((row) => Object.fromEntries(columns.map((name) => [name, row[name]]))),
    expected,
  );
  const own = readOwnFile(file, groups);
  assert.deepEqual(
    own && batchesOf(own).batches.flatMap(rowsOf),
    rowsOf(batchOfRows(ALL_TYPES_SCHEMA, rows)),
  );
});

for (const seed of SEEDS) {
  Deno.test(`rows of every type, values of every kind come back from other readers: seed ${seed}`, async () => {
    const rows = rowsFor(seed);
    const file = fileOf(rows);
    const groups = parquetMetadata(file.buffer).row_groups.map((_, at) => at);
    const decoded = rowsOfStream(decodeParquet(file, groups)).batches.flatMap(rowsOf);
    const expected = rowsOf(batchOfRows(ALL_TYPES_SCHEMA, rows));
    assert.deepEqual(decoded, expected);
    const own = readOwnFile(file, groups);
    assert.deepEqual(own && batchesOf(own).batches.flatMap(rowsOf), expected);
    const parsers = { timestampFromMicroseconds: (micros: bigint) => micros };
    assert.deepEqual(
      await parquetReadObjects({ file: file.buffer, compressors, parsers }),
      expected,
    );
  });

  Deno.test(`DuckDB finds what it finds in the WASM writer's file: seed ${seed}`, async () => {
    const rows = rowsFor(seed);
    const dir = await Deno.makeTempDir({ prefix: "svc-parquet-" });
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    try {
      const [ours, theirs] = [`${dir}/ours.parquet`, `${dir}/theirs.parquet`];
      await Deno.writeFile(ours, fileOf(rows));
      await Deno.writeFile(theirs, wasmParquet(inThreeBatches(rows), OPTIONS));
      const value = rows[ROWS >> 1];
      for (
        const where of [
          "true",
          `timestamp_ns < ${value?.["timestamp_ns"]}`,
          `name = '${value?.["name"]}'`,
          `name > 'line 3'`,
          "note = 'n3'",
          "note IS NULL",
          `count BETWEEN 10 AND 40`,
          "ratio > 1",
          "isnan(ratio)",
          "ok",
          `big < ${rows.find(({ big }) => big !== null)?.["big"]}`,
          "file_row_number BETWEEN 29990 AND 30010",
        ]
      ) {
        const rowsIn = (path: string) =>
          `(SELECT * FROM read_parquet('${path}', file_row_number=true) WHERE ${where})`;
        const reader = await connection.runAndReadAll(
          `SELECT (SELECT count(*) FROM ${rowsIn(theirs)}),
             (SELECT count(*) FROM (FROM ${rowsIn(ours)} EXCEPT ALL FROM ${rowsIn(theirs)})),
             (SELECT count(*) FROM (FROM ${rowsIn(theirs)} EXCEPT ALL FROM ${rowsIn(ours)}))`,
        );
        const [[count = 0n, more, fewer] = []] = reader.getRows() as bigint[][];
        assert.deepEqual([more, fewer], [0n, 0n], where);
        if (where === "true") assert.equal(count, BigInt(ROWS));
      }
    } finally {
      connection.closeSync();
      instance.closeSync();
      await Deno.remove(dir, { recursive: true });
    }
  });

  Deno.test(`page indexes lead to the pages and bound their values: seed ${seed}`, () => {
    const rows = rowsFor(seed);
    const file = fileOf(rows);
    const view = new DataView(file.buffer);
    const { row_groups: groups, schema } = parquetMetadata(file.buffer);
    let at = 4;
    let firstRow = 0;
    let pagesSeen = 0;
    for (const group of groups) {
      assert.equal(Number(group.file_offset), at);
      for (const [place, { meta_data: chunk, ...index }] of group.columns.entries()) {
        assert.ok(chunk !== undefined);
        const dictionary = chunk.dictionary_page_offset;
        assert.equal(Number(dictionary ?? chunk.data_page_offset), at);
        const pages =
          readOffsetIndex({ view, offset: Number(index.offset_index_offset) }).page_locations;
        assert.equal(pages[0]?.offset, chunk.data_page_offset);
        at += Number(chunk.total_compressed_size);
        const last = pages.at(-1);
        assert.equal(Number(last?.offset) + Number(last?.compressed_page_size), at);
        pagesSeen += pages.length;
        const column = schema[place + 1];
        if (column === undefined || index.column_index_offset === undefined) continue;
        const bounds = readColumnIndex(
          { view, offset: Number(index.column_index_offset) },
          column,
          {
            timestampFromMicroseconds: (micros: bigint) => micros,
          },
        );
        pages.forEach((page, number) => {
          const from = firstRow + Number(page.first_row_index);
          const to = firstRow + Number(pages[number + 1]?.first_row_index ?? group.num_rows);
          const values = rows.slice(from, to).map((row) => row[column.name] ?? null);
          const filled = values.filter((value) => value !== null);
          assert.equal(bounds.null_counts?.[number], BigInt(values.length - filled.length));
          assert.equal(bounds.null_pages[number], filled.length === 0);
          const [min, max] = [bounds.min_values[number], bounds.max_values[number]];
          for (const value of filled) {
            assertBetween(value, [min, max], column.name);
          }
        });
      }
      firstRow += Number(group.num_rows);
    }
    assert.equal(firstRow, ROWS);
    assert.ok(
      pagesSeen > groups.length * ALL_TYPES_SCHEMA.columns.length,
      `${pagesSeen} pages`,
    );
  });
}

Deno.test("what compression gains nothing of has no codec, and places in a dictionary are one page", () => {
  const random = new SeededRandom(7);
  const rows = Array.from({ length: GROUP_ROWS }, (_, at) => ({
    timestamp: BigInt(at),
    timestamp_ns: 1_000n * BigInt(at),
    name: `line ${at} of many that are alike`,
    note: at < 9 ? "first" : "rest",
    big: distantNumber(random),
  }));
  const file = fileOf(rows);
  const columns = parquetMetadata(file.buffer).row_groups[0]?.columns ?? [];
  const chunkOf = (name: string) =>
    columns.find(({ meta_data: chunk }) => chunk?.path_in_schema[0] === name);
  const codecs = ["name", "note", "big"].map((name) => chunkOf(name)?.meta_data?.codec);
  assert.deepEqual(codecs, ["ZSTD", "UNCOMPRESSED", "UNCOMPRESSED"]);
  const pages = ["name", "note"].map((name) => {
    const offset = Number(chunkOf(name)?.offset_index_offset);
    return readOffsetIndex({ view: new DataView(file.buffer), offset }).page_locations.length;
  });
  assert.deepEqual(pages, [2, 1]);
});

Deno.test("a column that begins with nulls is compressed where its values begin", () => {
  const rows = Array.from({ length: GROUP_ROWS }, (_, at) => ({
    timestamp: BigInt(at),
    timestamp_ns: 1_000n * BigInt(at),
    name: "",
    note: at < 21_000 ? null : `line ${at} ${"of many that are alike ".repeat(9)}`,
  }));
  const chunks = parquetMetadata(fileOf(rows).buffer).row_groups[0]?.columns ?? [];
  const note = chunks.find(({ meta_data: chunk }) => chunk?.path_in_schema[0] === "note")
    ?.meta_data;
  assert.equal(note?.codec, "ZSTD");
  assert.ok(Number(note?.total_compressed_size) < Number(note?.total_uncompressed_size) / 9);
});

Deno.test("each row group has a codec where compression gains, whatever the one before had", () => {
  const random = new SeededRandom(10);
  for (const isNoiseFirst of [true, false]) {
    const rows = Array.from({ length: 2 * GROUP_ROWS }, (_, at) => ({
      timestamp: BigInt(at),
      timestamp_ns: 1_000n * BigInt(at),
      name: "",
      big: at < GROUP_ROWS === isNoiseFirst ? distantNumber(random) : BigInt(at),
    }));
    const codecs = parquetMetadata(fileOf(rows).buffer).row_groups.map(({ columns }) =>
      columns.find(({ meta_data: chunk }) => chunk?.path_in_schema[0] === "big")?.meta_data?.codec
    );
    const expected = ["UNCOMPRESSED", "ZSTD"];
    assert.deepEqual(codecs, isNoiseFirst ? expected : expected.toReversed());
  }
});

Deno.test("ids of ten thousand users are places in a dictionary, ids of rows are not", async () => {
  const random = new SeededRandom(7);
  const rows = Array.from({ length: GROUP_ROWS }, (_, at) => ({
    timestamp: BigInt(at),
    timestamp_ns: 1_000n * BigInt(at),
    name: `u${random.below(10_000)}`,
    note: `u${at}`,
  }));
  const file = fileOf(rows);
  const columns = parquetMetadata(file.buffer).row_groups[0]?.columns ?? [];
  const hasDictionary = (name: string) =>
    columns.some(({ meta_data: chunk }) =>
      chunk?.path_in_schema.at(-1) === name && chunk.dictionary_page_offset !== undefined
    );
  assert.deepEqual([hasDictionary("name"), hasDictionary("note")], [true, false]);
  const read = await parquetReadObjects({
    file: file.buffer,
    compressors,
    columns: ["name", "note"],
  });
  assert.deepEqual(read, rows.map(({ name, note }) => ({ name, note })));
});

Deno.test("times whose distances repeat, and lengths that do, take few bytes", () => {
  const random = new SeededRandom(8);
  let ns = 1_790_000_000_000_000_000n;
  const rows = Array.from({ length: GROUP_ROWS }, (_, at) => {
    ns += 1_000_000n * BigInt(random.below(40));
    const name = `line ${at} ${"x".repeat(random.below(12) ** 2)}`;
    return { timestamp: ns / 1_000n, timestamp_ns: ns, name };
  });
  const columns = parquetMetadata(fileOf(rows).buffer).row_groups[0]?.columns ?? [];
  const perRow = columns.slice(0, 3).map(({ meta_data: chunk }) =>
    Number(chunk?.total_compressed_size) / GROUP_ROWS
  );
  // In the fewest bits they took 0.94, 1.56 and 4.82.
  [0.93, 1.3, 4.76].forEach((most, at) =>
    assert.ok((perRow[at] ?? Infinity) <= most, `${perRow[at]} bytes a row in column ${at}`)
  );
});

Deno.test("lines that are kept take fewer bytes, and come back", async () => {
  const random = new SeededRandom(9);
  const sessions = Array.from({ length: 40 }, () => ({ peer: "", step: 5 }));
  const rows = Array.from({ length: GROUP_ROWS }, (_, at) => {
    const session = random.below(sessions.length);
    const { peer, step } = sessions[session] ?? { peer: "", step: 0 };
    const address = () =>
      `10.${random.below(9)}.19.${random.below(99)} port ${random.below(9_999)}`;
    const next = step < 4 ? { peer, step: step + 1 } : { peer: address(), step: 0 };
    sessions[session] = next;
    const lines = [
      `Invalid user webmaster${session} from ${next.peer}`,
      `pam_unix(sshd:auth): authentication failure; uid=0 euid=0 tty=ssh rhost=${next.peer}`,
      "pam_unix(sshd:auth): check pass; user unknown",
      `Failed password for invalid user webmaster${session} from ${next.peer} ssh2`,
      `Received disconnect from ${next.peer}: 11: Bye Bye [preauth]`,
    ];
    const name = `Dec 10 06:${at >> 9}:${at >> 3 & 63} LabSZ sshd[${24_200 + session}]: ${
      lines[next.step]
    }`;
    return { timestamp: BigInt(at), timestamp_ns: 1_000n * BigInt(at), name };
  });
  const { stream } = parquetInput([batchOfRows(ALL_TYPES_SCHEMA, rows)], ALL_TYPES_SCHEMA);
  const [drained, merged] = (["usual", "thorough"] as const).map((effort) =>
    encodeStream(stream, { schema: ALL_TYPES_SCHEMA, effort })
  );
  assert.ok(drained !== undefined && merged !== undefined);
  assert.ok(merged.length < 0.93 * drained.length, `${merged.length} of ${drained.length} bytes`);
  const read = await parquetReadObjects({ file: merged.buffer, compressors, columns: ["name"] });
  assert.deepEqual(read, rows.map(({ name }) => ({ name })));
});

Deno.test("a file of chunks of one page has no page indexes", () => {
  const rows = rowsFor(0).slice(0, 100);
  const [group] = parquetMetadata(fileOf(rows).buffer).row_groups;
  assert.equal(group?.columns.length, ALL_TYPES_SCHEMA.columns.length);
  for (const { meta_data: _, ...chunk } of group?.columns ?? []) {
    assert.deepEqual([chunk.offset_index_offset, chunk.column_index_offset], [
      undefined,
      undefined,
    ]);
  }
});

Deno.test("a text that is no UTF-8, or begins within a letter, is not written", () => {
  const rows = [{ timestamp: 1n, timestamp_ns: 1_000n, name: "é", note: null }];
  const [letter, other] = ["é", "ab"].map((name) =>
    batchOfRows(ALL_TYPES_SCHEMA, [{ ...rows[0], name }, { ...rows[0], name: "" }])
  );
  assert.ok(letter !== undefined && other !== undefined);
  const withName = (name: Partial<ColumnData>) => ({
    ...letter,
    columns: letter.columns.map((data, at) => at === 2 ? { ...data, ...name } : data),
  });
  const table: [batch: ColumnBatch, isWritten: boolean][] = [
    [letter, true],
    [other, true],
    [withName({ values: Uint8Array.of(0xff, 0x61) }), false],
    [withName({ offsets: Int32Array.of(0, 1, 2) }), false],
  ];
  for (const [batch, isWritten] of table) {
    const shared = new Uint8Array(new SharedArrayBuffer(1024 * 64));
    const { stream } = parquetInput([batch], ALL_TYPES_SCHEMA);
    shared.set(stream);
    const write = () =>
      encodeStream(shared.subarray(0, stream.length), { schema: ALL_TYPES_SCHEMA });
    if (isWritten) assert.ok(write().length > 0);
    else assert.throws(write, /column name is not UTF-8/);
  }
});

Deno.test("DuckDB finds a NaN wherever it sorts it: what has one has no bounds", async () => {
  const dir = await Deno.makeTempDir();
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    // One of two row groups has a NaN; few values have a dictionary, and many have none.
    for (const distinct of [20, GROUP_ROWS]) {
      const rows = Array.from({ length: 2 * GROUP_ROWS }, (_, at) => ({
        timestamp: BigInt(at),
        timestamp_ns: 1_000n * BigInt(at),
        name: "n",
        ratio: at === 7 ? NaN : at % distinct / 8,
      }));
      const bytes = fileOf(rows);
      await Deno.writeFile(`${dir}/file.parquet`, bytes);
      const [first, second] = parquetMetadata(bytes.buffer).row_groups.map(({ columns }) =>
        columns.find(({ meta_data }) => meta_data?.path_in_schema[0] === "ratio")?.meta_data
      );
      assert.equal(first?.statistics?.max_value, undefined);
      assert.equal(second?.statistics?.max_value, (distinct - 1) / 8);
      const count = async (where: string) => {
        const sql = `SELECT count(*) FROM read_parquet('${dir}/file.parquet') WHERE ${where}`;
        return (await connection.runAndReadAll(sql)).getRows()[0]?.[0];
      };
      for (const where of ["ratio > 1e9", "ratio = 'NaN'::DOUBLE", "isnan(ratio)"]) {
        assert.equal(await count(where), 1n, where);
      }
      assert.equal(await count("ratio < 0"), 0n);
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
    await Deno.remove(dir, { recursive: true });
  }
});

function assertBetween(value: ColumnValue, bounds: readonly unknown[], what: string): void {
  if (value === null || (typeof value === "number" && Number.isNaN(value))) return;
  const [min, max] = bounds as [typeof value, typeof value];
  // Strings by their code points, as UTF-8 is.
  const isIn = typeof value === "string"
    ? Buffer.compare(Buffer.from(String(min)), Buffer.from(value)) <= 0 &&
      Buffer.compare(Buffer.from(value), Buffer.from(String(max))) <= 0
    : min <= value && value <= max;
  assert.ok(isIn, `${what}: ${value} is not in ${min} to ${max}`);
}

/** Sorted by time; each seed has other shares of nulls, of repeated values and of runs. */
function rowsFor(seed: number): RowObject[] {
  const random = new SeededRandom(seed);
  const shares = Array.from({ length: 8 }, () => random.float());
  const share = (at: number) => shares[at] as number;
  const isDistinct = seed % 2 === 0;
  const stepNs = [1_000n, 1_000_000n, 1n, 1_000_000_000n][seed % 4] ?? 1n;
  const stepsMax = seed % 2 === 0 ? 1_000 : 40;
  let ns = 1_790_000_000_000_000_000n;
  let last: RowObject = {};
  return Array.from({ length: ROWS }, (_, at) => {
    ns += random.chance(0.5) ? 0n : stepNs * BigInt(random.below(stepsMax));
    const isLike = random.chance(share(0));
    const maybe = (column: number, value: () => ColumnValue) =>
      random.chance(share(column)) ? null : value();
    const [text] = [TEXTS[random.below(TEXTS.length)] ?? ""];
    const name = random.chance(0.02)
      ? text
      : `line ${isDistinct ? at : at % 300} ${"y".repeat(at % 130)}`;
    last = {
      name: isLike && at > 0 ? last["name"] ?? "" : name,
      note: maybe(1, () => `n${random.below(9)}`),
      count: maybe(2, () => random.below(seed === 1 ? 2 ** 31 : 90)),
      ratio: maybe(3, () => DOUBLES[random.below(DOUBLES.length)] ?? 0),
      ok: maybe(4, () => random.chance(0.9)),
      big: maybe(5, () => distantNumber(random)),
      at: maybe(6, () => (random.chance(0.5) ? ns : -ns) / 1_000n),
    };
    return { timestamp: ns / 1_000n, timestamp_ns: ns, ...last };
  });
}

/** All of its 64 bits look random. */
function distantNumber(random: SeededRandom): bigint {
  return BigInt.asIntN(64, BigInt(random.below(2 ** 32)) * 0x9e37_79b9_7f4a_7c15n);
}

function fileOf(rows: readonly RowObject[]): Uint8Array<ArrayBuffer> {
  return encodeBatches(inThreeBatches(rows), OPTIONS);
}

/** They end elsewhere than row groups. */
function inThreeBatches(rows: readonly RowObject[]): ColumnBatch[] {
  const cuts = [0, 7, 20_003, rows.length];
  return cuts.slice(1).map((end, at) => batchOfRows(ALL_TYPES_SCHEMA, rows.slice(cuts[at], end)));
}
