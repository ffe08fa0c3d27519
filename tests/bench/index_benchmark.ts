/**
 * The indexes of data files: how fast they are made and what they take beside the data files. And
 * what a lookup in each of many files costs with their headers at hand. Times are those of the
 * processor, all threads of it.
 */

import { cpuUsage } from "node:process";
import { decodeLogsProtobuf } from "../../ingest/otlp/logs/logs_protobuf.ts";
import { formatBytes } from "../../shared/base/bytes.ts";
import { NS_PER_MS } from "../../shared/base/time.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { type BlobPlace, readPuffinTail, writePuffin } from "../../shared/derived/puffin.ts";
import { findRows } from "../../shared/derived/rows/find_rows.ts";
import type { IndexedFile, OpenedIndex } from "../../shared/derived/rows/indexed_file.ts";
import type { RowQuery } from "../../shared/derived/rows/row_query.ts";
import { deriveWords, valuesBlobs } from "../../shared/derived/text/text_blobs.ts";
import type { FileRows } from "../../shared/derived/types.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { ROW_GROUP_ROWS } from "../../shared/parquet/row_groups.ts";
import { writeParquet } from "../../shared/parquet/write_parquet.ts";
import { openLocalStore } from "../../shared/storage/local_store.ts";
import type { ReadableStore } from "../../shared/storage/object_store.ts";
import { type Benchmark, type BenchRow, formatCount, median } from "./benchmark.ts";
import { otlpLogsBody } from "./otlp_bodies.ts";
import { START_NS } from "./table_fixture.ts";

const FILES = 20;
const BUILD_ROUNDS = 7;
const LOOKUP_ROUNDS = 15;
const ROWS_PER_BATCH = 5_000;

const BUILD_ROWS_PER_SEC_MIN = 300_000;
const SIZE_MAX = 0.35;
/**
 * For each word: 100 million rows in 200 files within 100 ms, on two cores, leave twice as much.
 */
const LOOKUP_MS_MAX = 0.4;

const LOOKUPS: readonly {
  readonly what: string;
  readonly words?: number;
  readonly query: RowQuery;
}[] = [
  { what: "a word in one row", query: words("all", "77777") },
  { what: "a word in no row", query: words("all", "zebra") },
  { what: "a word in every row", query: words("all", "request") },
  { what: "a phrase of three words", words: 3, query: words("phrase", "request 77777 served") },
  { what: "a prefix of ten words", query: words("prefix", "7777") },
  {
    what: "a part of a word in no row",
    query: { kind: "substring", column: "raw", text: "eedle", ignoreCase: false },
  },
  {
    what: "an attribute of one row",
    query: { kind: "attribute", column: "attributes", name: "seq", values: ["77777"] },
  },
];

export const INDEX: Benchmark = {
  name: "index",
  summary: "indexes of data files made on one core, their size, and lookups in them",
  sizes: { small: { rows: 100_000, seconds: 0 }, full: { rows: 500_000, seconds: 0 } },
  async run({ rows }) {
    const file = fileRows(rows);
    const { blobs, seconds } = build(file);
    const sidecar = writePuffin(blobs);
    const dataBytes = writeParquet(file.batches, { schema: file.schema })
      .bytes.byteLength;
    const rate = rows / seconds;
    const share = sidecar.byteLength / dataBytes;
    return [
      {
        what: `indexes of ${formatCount(rows)} rows of about 320 bytes, processor time`,
        ours: `${formatCount(rate)} rows/s`,
        reference: "",
        ratio: "",
        target: `≥ ${formatCount(BUILD_ROWS_PER_SEC_MIN)} rows/s`,
        reached: rate >= BUILD_ROWS_PER_SEC_MIN,
      },
      {
        what: "their bytes",
        ours: formatBytes(sidecar.byteLength),
        reference: `Parquet ${formatBytes(dataBytes)}`,
        ratio: `${(100 * share).toFixed(1)} %`,
        target: `≤ ${100 * SIZE_MAX} %`,
        reached: share <= SIZE_MAX,
      },
      ...await lookups(sidecar, file),
    ];
  },
};

function words(mode: "all" | "phrase" | "prefix", text: string): RowQuery {
  return { kind: "terms", column: "raw", mode, text };
}

function fileRows(rows: number): FileRows {
  const batches: ColumnBatch[] = [];
  for (let first = 0; first < rows; first += ROWS_PER_BATCH) {
    const startNs = START_NS + BigInt(first) * NS_PER_MS;
    const body = otlpLogsBody({ records: ROWS_PER_BATCH, first, startNs });
    batches.push(decodeLogsProtobuf(body, { nowNs: startNs }));
  }
  const text = [{ name: "raw", tokenizer: "default" }] as const;
  return { schema: EVENTS_SCHEMA, rows, batches, text, rowGroupRows: ROW_GROUP_ROWS };
}

function build(file: FileRows) {
  const seconds: number[] = [];
  const indexes = () => [...deriveWords(file).blobs, ...valuesBlobs(file)];
  let blobs = indexes();
  for (let round = 0; round < BUILD_ROUNDS; round += 1) {
    const before = cpuUsage();
    blobs = indexes();
    seconds.push(cpuMsSince(before) / 1_000);
  }
  return { blobs, seconds: median(seconds) };
}

/** In `FILES` copies of the file's indexes on local disk, one after the other. */
async function lookups(sidecar: Uint8Array, { rows, schema }: FileRows): Promise<BenchRow[]> {
  const dir = await Deno.makeTempDir({ prefix: "svc-bench-index-" });
  try {
    const store = openLocalStore(new DenoFileSystem(), dir);
    const files: IndexedFile[] = [];
    for (let at = 0; at < FILES; at += 1) {
      const key = `${at}.puffin`;
      await store.putNew(key, sidecar);
      files.push({ schema, rows, ...indexesIn(store, key, sidecar) });
    }
    const lines: BenchRow[] = [];
    for (const { what, words = 1, query } of LOOKUPS) {
      const most = words * LOOKUP_MS_MAX;
      const ms = await msOfLookup(query, files);
      lines.push({
        what: `${what}: a lookup in one of ${FILES} files, processor time`,
        ours: `${ms.toFixed(2)} ms`,
        reference: "",
        ratio: "",
        target: `≤ ${most.toFixed(1)} ms`,
        reached: ms <= most,
      });
    }
    return lines;
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function msOfLookup(query: RowQuery, files: readonly IndexedFile[]): Promise<number> {
  const times: number[] = [];
  for (let round = -1; round < LOOKUP_ROUNDS; round += 1) {
    const before = cpuUsage();
    for (const file of files) await findRows(query, file);
    if (round >= 0) times.push(cpuMsSince(before) / files.length);
  }
  return median(times);
}

function cpuMsSince(before: ReturnType<typeof cpuUsage>): number {
  const { user, system } = cpuUsage(before);
  return (user + system) / 1_000;
}

/** What is opened once stays in memory; blocks are read from the store each time. */
function indexesIn(store: ReadableStore, key: string, sidecar: Uint8Array) {
  const tail = readPuffinTail(sidecar, { size: sidecar.byteLength, what: key });
  if (!("footer" in tail)) throw new Error("the whole sidecar was given");
  const opened = new Map<BlobPlace, OpenedIndex>();
  return {
    blobs: tail.footer.blobs,
    read: (place: BlobPlace, part: { readonly offset: number; readonly length: number }) =>
      store.getRange(key, place.offset + part.offset, part.length),
    open: async <T extends OpenedIndex>(place: BlobPlace, load: () => Promise<T>) => {
      const known = opened.get(place) ?? await load();
      opened.set(place, known);
      return known as T;
    },
    damaged: (_place: BlobPlace, error: Error) => {
      throw error;
    },
  };
}
