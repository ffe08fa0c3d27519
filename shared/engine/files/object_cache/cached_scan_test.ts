/**
 * Statements over an object store: the same answers as over a folder, and just the reads that they
 * need. Holes of cached files hold garbage that DuckDB would go on believing
 * (`HoleRevealingFiles`), so reading one shows.
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { configure, reset } from "@logtape/logtape";
import fc from "fast-check";
import { isOperatingError, OperatingError } from "../../../base/errors.ts";
import type { RowObject } from "../../../columns/rows.ts";
import { EVENTS_SCHEMA } from "../../../schema/events.ts";
import { DenoFileSystem } from "../../../os/deno_file_system.ts";
import { readFooter } from "../../../parquet/footer.ts";
import { EngineLab } from "../../../testing/engine_lab.ts";
import { HoleRevealingFiles } from "../../../testing/hole_revealing_files.ts";
import { type RemoteRead, RemoteStore } from "../../../testing/remote_store.ts";
import { until } from "../../../testing/until.ts";
import type { EngineOptions } from "../../open_engine.ts";
import type { ScanStats } from "../../types.ts";
import { READ_AHEAD_BYTES } from "./file_layout.ts";

const START_NS = 1_790_000_000_000_000_000n;
const DAY_NS = 86_400_000_000_000n;
/** More than the rows of all files. */
const ROWS_MAX = 20_000;
const EVENTS = { ident: { namespace: "svc", name: "events" }, schema: EVENTS_SCHEMA };

interface FileSpec {
  readonly rows: number;
  readonly rowGroupRowsMax: number;
  readonly sorted: boolean;
  readonly seed: number;
}

interface Remote extends AsyncDisposable {
  readonly lab: EngineLab;
  readonly store: RemoteStore;
}

async function openRemote(engine: Partial<EngineOptions> = {}): Promise<Remote> {
  const store = new RemoteStore();
  const files = new HoleRevealingFiles();
  const lab = await EngineLab.open({ store, engine: { files, ...engine } });
  return { lab, store, [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose]() };
}

/** Rows of one day: columns of few values and of one each, short and long, with nulls. */
function rowsOf({ rows, seed, sorted }: FileSpec, day: number): RowObject[] {
  const noise = (i: number) => (Math.imul(i + seed, 2_654_435_761) >>> 0) % 1_000_003;
  return Array.from({ length: rows }, (_, i) => {
    const at = sorted ? i : noise(i) % rows;
    const ns = START_NS + BigInt(day) * DAY_NS + BigInt(at) * 1_000_000_000n;
    return {
      timestamp: ns / 1_000n,
      timestamp_ns: ns,
      host: `h${noise(i) % 5}`,
      source: `source ${noise(i)}`,
      sourcetype: "t",
      index: noise(i) % 2 === 0 ? "main" : "other",
      raw: [3, 5, 7, 11, 13, 17, 19].map((by) => noise(i * by)).join(" "),
      attributes: noise(i) % 3 === 0 ? null : `{"n":${noise(i) % 50}}`,
    };
  });
}

async function fill(lab: EngineLab, specs: readonly FileSpec[]): Promise<void> {
  for (const [day, spec] of specs.entries()) {
    const { sorted, rowGroupRowsMax } = spec;
    await lab.commitRows(rowsOf(spec, day), { ...EVENTS, sorted, rowGroupRowsMax });
  }
}

const text = (ns: bigint) => new Date(Number(ns / 1_000_000n)).toISOString();
const timeAt = (secs: number) => text(START_NS + BigInt(secs) * 1_000_000_000n);

/**
 * Statements with one right answer, in one order where they name one; `a` and `b` are seconds after
 * the start.
 */
const STATEMENTS: readonly ((a: number, b: number) => string)[] = [
  () => "SELECT count(*) FROM events",
  () => "SELECT host, raw FROM events",
  () => "SELECT count(*), count(attributes) FROM events",
  (a) => `SELECT count(*) FROM events WHERE timestamp >= '${timeAt(a)}'`,
  (a) => `SELECT count(*) FROM events WHERE host = 'h${a % 5}' AND source LIKE '%${a % 10}'`,
  () => "SELECT host, count(*), max(raw) FROM events GROUP BY host ORDER BY host",
  () => 'SELECT "index", min(source) FROM events GROUP BY ALL ORDER BY ALL',
  (a, b) =>
    `SELECT source FROM events WHERE timestamp >= '${timeAt(a)}' AND timestamp < '${
      timeAt(a + b)
    }' ` +
    "ORDER BY source, timestamp_ns",
  (a) => `SELECT * FROM events ORDER BY timestamp DESC, timestamp_ns DESC, raw LIMIT ${1 + a % 40}`,
  (a) => `SELECT timestamp FROM events ORDER BY timestamp LIMIT ${1 + a % 900}`,
  (a) =>
    `SELECT raw FROM events WHERE timestamp <= '${timeAt(a)}' ORDER BY timestamp DESC, raw LIMIT 7`,
  (a) => `SELECT max(attributes) FROM events WHERE source = 'source ${a}'`,
  () => "SELECT DISTINCT ON (host) host, source FROM events ORDER BY host, source, timestamp_ns",
  () =>
    "SELECT count(*) FROM events e WHERE EXISTS (SELECT 1 FROM events f WHERE f.raw = e.source)",
  () => "SELECT a.host, count(*) FROM events a JOIN events b USING (source) GROUP BY 1 ORDER BY 1",
  () => "SELECT count(*) FROM events NATURAL JOIN (SELECT DISTINCT host FROM events) h",
  () => "SELECT sum(length(t::VARCHAR)) FROM events t",
  () => "WITH c AS (FROM events) SELECT sourcetype, count(*) FROM c GROUP BY 1",
  () => "SELECT * EXCLUDE (raw, attributes) FROM events ORDER BY ALL LIMIT 20",
  () =>
    "SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY host ORDER BY raw) n FROM events)",
  () => "SELECT max(COLUMNS('s.*')) FROM events",
  () => "SELECT count(x) FROM events t(a, b, c, d, e, f, x, g)",
  () => "SELECT attr_get(attributes, 'n') k, count(*) FROM events GROUP BY 1 ORDER BY 1",
  (a, b) =>
    `SELECT host FROM events WHERE timestamp < '${timeAt(a)}' UNION ALL ` +
    `SELECT raw FROM events WHERE timestamp > '${timeAt(a + b)}' ORDER BY 1`,
  (a) => `SELECT count(*) FROM events WHERE timestamp > '${timeAt(a)}' AND host <> ''`,
];

const SPECS = fc.array(
  fc.record({
    // Small files are fetched whole, so that most should not be small.
    rows: fc.integer({ min: 1, max: 6_000 }),
    rowGroupRowsMax: fc.integer({ min: 200, max: 2_500 }),
    sorted: fc.boolean(),
    seed: fc.nat(1_000),
  }),
  { minLength: 1, maxLength: 3 },
);
const CALLS = fc.array(
  fc.record({
    of: fc.nat(STATEMENTS.length - 1),
    a: fc.nat(6_000),
    b: fc.nat(3_000),
    ordered: fc.boolean(),
  }),
  { minLength: 8, maxLength: 16 },
);

Deno.test({
  name: "CachedDataFiles any statements, three at a time, have the answers that whole files give",
  fn: () =>
    fc.assert(
      fc.asyncProperty(
        SPECS,
        CALLS,
        fc.constantFrom(0, 100_000, 2 ** 30),
        // The first is production's file system, the second makes a hole show.
        fc.constantFrom(new DenoFileSystem(), new HoleRevealingFiles()),
        async (specs, calls, objectCacheBytesMax, files) => {
          await using local = await EngineLab.open();
          await using remote = await openRemote({ objectCacheBytesMax, files });
          await fill(local, specs);
          await fill(remote.lab, specs);
          for (let at = 0; at < calls.length; at += 3) {
            await Promise.all(
              calls.slice(at, at + 3).map(async ({ of, a, b, ordered }) => {
                const sql = STATEMENTS[of]?.(a, b) ?? "";
                const options = {
                  defaultOrder: ordered && !sql.includes("UNION"),
                  rowsMax: ROWS_MAX,
                };
                const [expected, actual] = await Promise.all([
                  local.query(sql, options),
                  remote.lab.query(sql, options),
                ]);
                const told = (texts: readonly string[]) =>
                  sql.includes("ORDER BY") ? texts : texts.toSorted();
                deepStrictEqual(actual.columns, expected.columns, sql);
                deepStrictEqual(told(actual.texts), told(expected.texts), sql);
                sumsUp(actual.stats.scan);
              }),
            );
          }
        },
      ),
      // Its cases take long: the first that fails is told as it is.
      { numRuns: 4, endOnFailure: true },
    ),
});

/** Bytes of `stats.scan`: the classes are the whole. */
function sumsUp(scan: ScanStats | undefined): void {
  if (scan === undefined) return;
  const { bytes_footer = 0, bytes_index = 0, bytes_data = 0, bytes_other = 0 } = scan;
  strictEqual(bytes_footer + bytes_index + bytes_data + bytes_other, scan.fetched_bytes);
}

/**
 * Holds the answers of `store` until `count` reads are asked for; one more throws. A read that
 * waits for the answer of another never comes, and the statement misses its deadline.
 */
function answerTogether(store: RemoteStore, count: number): void {
  const all = Promise.withResolvers<void>();
  let asked = 0;
  store.onRead = ({ key }) => {
    asked += 1;
    if (asked > count) throw new Error(`${key} is read as number ${asked} of ${count}`);
    if (asked === count) all.resolve();
    return all.promise;
  };
}

function bytesOf(reads: readonly RemoteRead[]): number {
  return reads.reduce((sum, { range }) => sum + (range?.end ?? NaN) - (range?.start ?? NaN), 0);
}

Deno.test({
  name:
    "CachedDataFiles two of eight columns of one row group cost two reads: the footer and their chunks",
  fn: async () => {
    await using remote = await openRemote();
    const { lab, store } = remote;
    await fill(lab, [{ rows: 33_000, rowGroupRowsMax: 8_250, sorted: true, seed: 3 }]);
    // Reads the metadata and no data file.
    await (await lab.prepare("SELECT 1 FROM events"))[Symbol.asyncDispose]();
    deepStrictEqual(store.dataReads, []);
    const key = (await Array.fromAsync(store.list(""))).find((one) => one.key.endsWith(".parquet"));
    ok(key !== undefined);
    const { rowGroups, byteLength } = await readFooter(store, key.key, key.size);
    const wanted = rowGroups[1]?.columns.filter(({ name }) => ["host", "source"].includes(name)) ??
      [];
    const chunkBytes = wanted.reduce((sum, chunk) => sum + chunk.byteLength, 0);
    const whole = rowGroups[1]?.byteLength ?? 0;
    store.reads.length = 0;
    const sql = "SELECT host, max(source) FROM events WHERE timestamp >= " +
      `'${timeAt(9_000)}' AND timestamp < '${timeAt(10_000)}' GROUP BY host ORDER BY host`;
    // The time columns decide which rows; they are read, too, and small.
    const timeBytes = (rowGroups[1]?.columns ?? []).filter(({ name }) => name === "timestamp")
      .reduce((sum, chunk) => sum + chunk.byteLength, 0);
    const first = await lab.query(sql);
    strictEqual(first.rows.length, 5);
    const fetched = bytesOf(store.reads);
    const needed = chunkBytes + timeBytes + byteLength;
    ok(fetched <= 1.2 * needed, `${fetched} bytes fetched, ${needed} needed`);
    ok(fetched < whole / 3, `${fetched} of ${whole} bytes`);
    strictEqual(store.reads.length, 2);
    const { scan } = first.stats;
    deepStrictEqual([scan?.object_store_reads, scan?.fetched_bytes], [store.reads.length, fetched]);
    deepStrictEqual([scan?.file_cache_hits, scan?.file_cache_misses], [undefined, 1]);
    deepStrictEqual(scan?.bytes_footer, byteLength);
    ok((scan?.bytes_data ?? 0) >= chunkBytes);

    store.reads.length = 0;
    const second = await lab.query(sql);
    deepStrictEqual(second.texts, first.texts);
    deepStrictEqual(store.reads, []);
    const again = second.stats.scan;
    deepStrictEqual([again?.object_store_reads, again?.fetched_bytes], [0, 0]);
    deepStrictEqual([again?.file_cache_hits, again?.file_cache_misses], [1, undefined]);
    strictEqual("bytes_data" in (again ?? {}), false);
  },
});

Deno.test({
  name:
    "CachedDataFiles a file of which nearly all is needed is asked for whole, once, beside the other",
  fn: async () => {
    await using remote = await openRemote();
    const { lab, store } = remote;
    const spec = { rows: 5_000, rowGroupRowsMax: 2_000, sorted: true };
    await fill(lab, [{ ...spec, seed: 3 }, { ...spec, seed: 4 }]);
    const files = (await Array.fromAsync(store.list(""))).filter(({ key }) =>
      key.endsWith(".parquet")
    );
    const length = files.reduce((sum, { size }) => sum + size, 0);
    const first = await lab.query("SELECT host, max(source) FROM events GROUP BY 1 ORDER BY 1");
    ok((first.stats.scan?.bytes_data ?? length) < length / 2, "some columns are no reason");

    await using other = await openRemote();
    await fill(other.lab, [{ ...spec, seed: 3 }, { ...spec, seed: 4 }]);
    await (await other.lab.prepare("SELECT 1 FROM events"))[Symbol.asyncDispose]();
    other.store.reads.length = 0;
    answerTogether(other.store, files.length);
    const { rows, stats: { scan } } = await other.lab.query("SELECT * FROM events ORDER BY ALL");
    strictEqual(rows.length, 10_000);
    strictEqual(other.store.reads.length, files.length);
    strictEqual(scan?.fetched_bytes, length);
    const { bytes_footer = 0, bytes_index = 0, bytes_data = 0, bytes_other = 0 } = scan ?? {};
    strictEqual(bytes_footer + bytes_index + bytes_data + bytes_other, length);
    deepStrictEqual([scan?.file_cache_hits, scan?.file_cache_misses], [undefined, files.length]);
  },
});

Deno.test({
  name: "CachedDataFiles a statement that is only explained reads no data file",
  fn: async () => {
    await using remote = await openRemote();
    const { lab, store } = remote;
    await fill(lab, [{ rows: 100, rowGroupRowsMax: 50, sorted: true, seed: 1 }]);
    await using prepared = await lab.prepare("SELECT host FROM events WHERE raw <> 'x'");
    ok((await prepared.explain()).includes("READ_PARQUET"));
    const [answer] = (await lab.query("EXPLAIN SELECT host FROM events")).rows;
    ok(String(answer).includes("READ_PARQUET"));
    deepStrictEqual(store.dataReads, []);
  },
});

Deno.test({
  name: "CachedDataFiles an outage is a 503, and what is at hand is still answered",
  fn: async () => {
    await using remote = await openRemote();
    const { lab, store } = remote;
    await fill(lab, [{ rows: 4_000, rowGroupRowsMax: 1_000, sorted: true, seed: 1 }]);
    const known = "SELECT host, count(*) FROM events GROUP BY host ORDER BY host";
    const expected = await lab.query(known);
    store.onRead = () => {
      throw new OperatingError("unavailable", "Cannot reach the bucket");
    };
    deepStrictEqual((await lab.query(known)).texts, expected.texts);
    const error = await lab.query("SELECT max(raw) FROM events").then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    ok(isOperatingError(error, "unavailable"));
    deepStrictEqual([error.reason, error.retryAfterSecs], ["storage_unavailable", 5]);
    deepStrictEqual((await lab.query(known)).texts, expected.texts);
    store.onRead = () => {};
    strictEqual((await lab.query("SELECT max(raw) FROM events")).rows.length, 1);
  },
});

Deno.test({
  name: "CachedDataFiles a data file that is gone is a 503 that names it",
  fn: async () => {
    await using remote = await openRemote();
    const { lab, store } = remote;
    await fill(lab, [{ rows: 20, rowGroupRowsMax: 200, sorted: true, seed: 1 }]);
    store.onRead = ({ key }) => {
      if (key.endsWith(".parquet")) throw new OperatingError("not_found", "NoSuchKey");
    };
    const error = await lab.query("SELECT max(raw) FROM events").then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    ok(isOperatingError(error, "unavailable"), String(error));
    match(error.message, /^Cannot read \S*\.parquet: .*; retry, and restore the file/);
    deepStrictEqual([error.reason, error.retryAfterSecs], ["storage_unavailable", 1]);
  },
});

Deno.test({
  name:
    "CachedDataFiles metadata that the catalog names and the store has not is a 503 with its remedy",
  fn: async () => {
    await using remote = await openRemote();
    const { lab, store } = remote;
    await fill(lab, [{ rows: 20, rowGroupRowsMax: 200, sorted: true, seed: 1 }]);
    store.onRead = ({ key }) => {
      throw new OperatingError("not_found", `Cannot read ${key}: NoSuchKey`);
    };
    const error = await lab.query("SELECT max(raw) FROM events").then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    ok(isOperatingError(error, "unavailable"), String(error));
    match(error.message, /metadata.json: NoSuchKey; .*--warehouse-url/);
    deepStrictEqual([error.reason, error.retryAfterSecs], ["storage_unavailable", 5]);
  },
});

Deno.test({
  name:
    "CachedDataFiles a store that hangs costs a statement its deadline and nobody else anything",
  fn: async () => {
    await using remote = await openRemote();
    const { lab, store } = remote;
    await fill(lab, [{ rows: 4_000, rowGroupRowsMax: 1_000, sorted: true, seed: 1 }]);
    const hanging = Promise.withResolvers<void>();
    let hangs = true;
    store.onRead = ({ range }) => hangs && range !== undefined ? hanging.promise : undefined;
    const sql = "SELECT max(raw) FROM events";
    const startMs = performance.now();
    // Half of it must be silence, however busy the machine is.
    const [late, patient] = [lab.query(sql, { deadlineMs: 3_000 }), lab.query(sql)];
    const error = await late.then(() => undefined, (thrown: unknown) => thrown);
    ok(isOperatingError(error, "unavailable"), String(error));
    match(
      error.message,
      /^Cannot read object ".*\.parquet": the store did not answer for \d\.\d s/,
    );
    deepStrictEqual([error.reason, error.retryAfterSecs], ["storage_unavailable", 5]);
    ok(performance.now() - startMs < 20_000);
    hangs = false;
    hanging.resolve();
    strictEqual((await patient).rows.length, 1);
  },
});

Deno.test({
  name: "CachedDataFiles what arrives when its statement is over is no error of the disk",
  fn: async () => {
    await using remote = await openRemote();
    const { lab, store } = remote;
    await fill(lab, [{ rows: 4_000, rowGroupRowsMax: 1_000, sorted: true, seed: 1 }]);
    const logged: string[] = [];
    await configure({
      reset: true,
      sinks: { logged: ({ message }) => void logged.push(message.join("")) },
      loggers: [
        { category: ["svc"], sinks: ["logged"], lowestLevel: "error" },
        { category: ["logtape", "meta"], sinks: [], lowestLevel: "error" },
      ],
    });
    try {
      const hanging = Promise.withResolvers<void>();
      const sql = "SELECT max(raw) FROM events";
      store.reads.length = 0;
      // The footer comes, and its columns do not.
      store.onRead = () => store.dataReads.length > 1 ? hanging.promise : undefined;
      const stopping = new AbortController();
      const stopped = lab.query(sql, { signal: stopping.signal }).catch(() => "stopped");
      await until(() => store.dataReads.length > 1);
      const patient = lab.query(sql);
      stopping.abort();
      strictEqual(await stopped, "stopped");
      hanging.resolve();
      strictEqual((await patient).rows.length, 1);
      deepStrictEqual(logged, []);
    } finally {
      await reset();
    }
  },
});

Deno.test({
  name:
    "CachedDataFiles table metadata that hangs costs a statement its deadline, and those that share its read as well",
  fn: async () => {
    await using remote = await openRemote();
    const { lab, store } = remote;
    await fill(lab, [{ rows: 20, rowGroupRowsMax: 200, sorted: true, seed: 1 }]);
    const hanging = Promise.withResolvers<void>();
    store.onRead = () => hanging.promise;
    store.reads.length = 0;
    const sql = "SELECT count(*) FROM events";
    const late = () =>
      lab.query(sql, { deadlineMs: 3_000 }).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
    const first = late();
    await until(() => store.reads.length > 0);
    const patient = lab.query(sql);
    for (const error of await Promise.all([first, late()])) {
      ok(isOperatingError(error, "unavailable"), String(error));
      match(error.message, /^Cannot read object ".*\/metadata\/.*": the store did not answer/);
    }
    hanging.resolve();
    deepStrictEqual((await patient).rows, [[20]]);
    strictEqual(new Set(store.reads.map(({ key }) => key)).size, store.reads.length);
  },
});

for (const [what, fastPaths] of [["an index", false], ["a summary", true]] as const) {
  Deno.test({
    name: `CachedDataFiles ${what} that hangs is told with its object to those that share its read`,
    fn: async () => {
      await using remote = await openRemote();
      const { lab, store } = remote;
      const spec = { rows: 4_000, rowGroupRowsMax: 1_000, sorted: true, seed: 1 };
      const { sorted, rowGroupRowsMax } = spec;
      await lab.commitRows(rowsOf(spec, 0), { ...EVENTS, sorted, rowGroupRowsMax, derived: true });
      const hanging = Promise.withResolvers<void>();
      store.onRead = ({ key }) => key.includes("/derived/") ? hanging.promise : undefined;
      store.reads.length = 0;
      const sql = "SELECT count(*) FROM events WHERE match_terms(raw, 'nowhere')";
      const late = () =>
        lab.query(sql, { deadlineMs: 3_000, fastPaths }).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
      const first = late();
      await until(() => store.reads.some(({ key }) => key.includes("/derived/")));
      for (const error of await Promise.all([first, late()])) {
        ok(isOperatingError(error, "unavailable"), String(error));
        match(error.message, /^Cannot read object ".*\/derived\/.*": the store did not answer/);
      }
      hanging.resolve();
      deepStrictEqual((await lab.query(sql)).rows, [[0]]);
    },
  });
}

Deno.test({
  name: "CachedDataFiles an answer cut short is asked for again, then refused as corrupt",
  fn: async () => {
    await using remote = await openRemote();
    const { lab, store } = remote;
    await fill(lab, [{ rows: 4_000, rowGroupRowsMax: 1_000, sorted: true, seed: 1 }]);
    const sql = "SELECT host, max(raw) FROM events GROUP BY 1 ORDER BY 1";
    let cuts = Infinity;
    store.answer = (bytes, { range }) => {
      if (range === undefined || cuts === 0) return bytes;
      cuts -= 1;
      return bytes.slice(0, bytes.byteLength >> 1);
    };
    const error = await lab.query(sql).then(() => undefined, (thrown: unknown) => thrown);
    ok(isOperatingError(error, "corrupt"), String(error));
    strictEqual(error.reason, "object_cut_short");
    cuts = 1;
    const { rows, stats } = await lab.query(sql);
    strictEqual(rows.length, 5);
    sumsUp(stats.scan);
  },
});

Deno.test({
  name:
    "CachedDataFiles an object that is no Parquet file is corrupt, and read anew when it is mended",
  fn: async () => {
    await using remote = await openRemote();
    const { lab, store } = remote;
    await fill(lab, [{ rows: 100, rowGroupRowsMax: 50, sorted: true, seed: 1 }]);
    store.answer = (bytes, { range }) => range === undefined ? bytes : bytes.map((byte) => ~byte);
    const error = await lab.query("SELECT max(raw) FROM events").then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    ok(isOperatingError(error, "corrupt"), String(error));
    store.answer = (bytes) => bytes;
    strictEqual((await lab.query("SELECT max(raw) FROM events")).rows.length, 1);
  },
});

Deno.test({
  name: "CachedDataFiles a budget of 0 leaves nothing on disk when the statement ends",
  fn: async () => {
    await using remote = await openRemote({ objectCacheBytesMax: 0 });
    const { lab, store } = remote;
    await fill(lab, [{ rows: 4_000, rowGroupRowsMax: 1_000, sorted: true, seed: 1 }]);
    const sql = "SELECT host, count(*) FROM events GROUP BY host ORDER BY host";
    const first = await lab.query(sql);
    const reads = store.dataReads.length;
    await until(async () => (await lab.files.readDir(`${lab.dir}/cache/objects`)).length === 0);
    deepStrictEqual((await lab.query(sql)).texts, first.texts);
    strictEqual(store.dataReads.length, 2 * reads);
  },
});

Deno.test({
  name: "CachedDataFiles READ_AHEAD_BYTES covers what DuckDB reads past a chunk",
  fn: async () => {
    // A column's last header lies at its chunk's end; with few rows the next 256 bytes are other
    // columns'.
    await using remote = await openRemote();
    const { lab } = remote;
    await fill(lab, [{ rows: 3, rowGroupRowsMax: 200, sorted: true, seed: 1 }]);
    for (const name of ["host", "source", "sourcetype", "raw", "attributes", "timestamp_ns"]) {
      strictEqual((await lab.query(`SELECT count("${name}") FROM events`)).rows.length, 1);
    }
    ok(READ_AHEAD_BYTES > 256);
  },
});
