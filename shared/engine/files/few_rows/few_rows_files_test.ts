/** Few rows are read out of their pages, wherever their file is. The scan tells of damage. */

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { RowObject } from "../../../columns/rows.ts";
import { EVENTS_SCHEMA } from "../../../schema/events.ts";
import type { ObjectStore } from "../../../storage/object_store.ts";
import { EngineLab } from "../../../testing/engine_lab.ts";
import { HoleRevealingFiles } from "../../../testing/hole_revealing_files.ts";
import { RemoteStore } from "../../../testing/remote_store.ts";
import type { RowIndexes } from "../../pruning/row_index.ts";

const ROWS = 40_000;
const NEEDLES = [17, 9_999, 25_000, 39_990];
const START_NS = 1_790_000_000_000_000_000n;
const EVENTS = { ident: { namespace: "svc", name: "events" }, schema: EVENTS_SCHEMA };
const NEEDLE = "SELECT * FROM events WHERE match_terms(raw, 'needle') ORDER BY timestamp";
/** Wants columns of a later page only where the condition is met. */
const HALF = "SELECT host, raw FROM events WHERE raw LIKE '%needle%' AND host = 'h1' ORDER BY raw";

/** Places of 16 rows, as an index knows them; those of one needle are told in vain. */
const INDEXES: RowIndexes = {
  rows: () => {
    const rows = [...NEEDLES, 12_345].sort((a, b) => a - b)
      .flatMap((row) => Array.from({ length: 16 }, (_, i) => (row >> 4 << 4) + i));
    return Promise.resolve({ kind: "rows", rows: Uint32Array.from(rows) });
  },
};

function rowOf(at: number): RowObject {
  const ns = START_NS + BigInt(at) * 1_000_003n;
  const noise = Math.imul(at, 2_654_435_761) >>> 0;
  return {
    timestamp: ns / 1_000n,
    timestamp_ns: ns,
    host: `h${at % 3}`,
    source: "s",
    sourcetype: "t",
    index: "main",
    raw: `${NEEDLES.includes(at) ? "a needle in " : ""}line ${noise} ${
      "é".repeat(at % 40)
    } of many`,
    attributes: at % 7 === 0 ? null : `{"n":${noise}}`,
  };
}

async function openLab(
  store?: ObjectStore,
): Promise<EngineLab & { readonly counts: { parts: number } }> {
  const counts = { parts: 0 };
  const lab = await EngineLab.open({
    ...(store === undefined ? {} : { store }),
    engine: {
      indexes: INDEXES,
      ...(store === undefined ? {} : { files: new HoleRevealingFiles() }),
      paysPages: () => {
        counts.parts += 1;
        return true;
      },
    },
  });
  const rows = Array.from({ length: ROWS }, (_, at) => rowOf(at));
  await lab.commitRows(rows, { ...EVENTS, sorted: true, rowGroupRowsMax: 15_000 });
  return Object.assign(lab, { counts });
}

function expectedTexts(): unknown[] {
  return NEEDLES.map((at) => rowOf(at)["raw"]);
}

Deno.test("FewRowsDataFiles gives just the rows that are wanted, of a folder and of a store", async () => {
  for (const store of [undefined, new RemoteStore()]) {
    await using lab = await openLab(store);
    const { rows, columns, stats } = await lab.query(NEEDLE);
    deepStrictEqual(rows.map((row) => row[columns.indexOf("raw")]), expectedTexts());
    ok(lab.counts.parts > 0, "pages were read");
    strictEqual(stats.rows_scanned, (NEEDLES.length + 1) * 16);
    const half = await lab.query(HALF);
    deepStrictEqual(
      half.rows,
      NEEDLES.filter((at) => at % 3 === 1).map((at) => ["h1", rowOf(at)["raw"]]).sort(),
    );
  }
});

Deno.test("FewRowsDataFiles fetches less of a store than the row groups have", async () => {
  const first: RowIndexes = {
    rows: () => Promise.resolve({ kind: "rows", rows: Uint32Array.of(16, 17) }),
  };
  const bytes: number[] = [];
  for (const isRead of [true, false]) {
    const store = new RemoteStore();
    await using lab = await EngineLab.open({
      store,
      engine: { indexes: first, files: new HoleRevealingFiles(), paysPages: () => isRead },
    });
    await lab.commitRows(Array.from({ length: ROWS }, (_, at) => rowOf(at)), {
      ...EVENTS,
      sorted: true,
    });
    const { texts } = await lab.query("SELECT raw FROM events WHERE match_terms(raw, 'needle')");
    deepStrictEqual(texts.map((text) => JSON.parse(text)), [[rowOf(17)["raw"]]]);
    const reads = store.dataReads.map(({ range }) =>
      range === undefined ? 0 : range.end - range.start
    );
    bytes.push(reads.reduce((sum, length) => sum + length, 0));
  }
  const [read = 0, scanned = 0] = bytes;
  ok(read < scanned / 2, `${read} of ${scanned} bytes`);
});

Deno.test("FewRowsDataFiles: a page of rows in order of time is fetched as few rows, whatever is made of them", async () => {
  const at = 20_000;
  const where = `WHERE timestamp < make_timestamptz(${rowOf(at)["timestamp"]})`;
  for (const raw of ["raw", "upper(raw)"]) {
    const store = new RemoteStore();
    await using lab = await openLab(store);
    const sql = `SELECT ${raw} FROM events ${where} ORDER BY timestamp DESC LIMIT 5`;
    const { rows, stats } = await lab.query(sql);
    const expected = [1, 2, 3, 4, 5].map((before) => String(rowOf(at - before)["raw"]));
    deepStrictEqual(rows, expected.map((text) => [raw === "raw" ? text : text.toUpperCase()]));
    strictEqual(stats.rows_scanned, 5);
    const bytes = store.dataReads.reduce((sum, { range }) => {
      return sum + (range === undefined ? Infinity : range.end - range.start);
    }, 0);
    const { size } = await store.head(store.dataReads[0]?.key ?? "");
    ok(bytes < size / 2, `${bytes} of ${size} bytes`);
  }
});

Deno.test("FewRowsDataFiles: what is scanned of few rows is told alike, whatever shape they have", async () => {
  const scanned: number[][] = [];
  for (const raw of ["raw", "raw || ''"]) {
    await using lab = await openLab(new RemoteStore());
    await using prepared = await lab.prepare(
      `SELECT ${raw} FROM events ORDER BY timestamp DESC LIMIT 5`,
    );
    await using running = await prepared.run();
    for await (const chunk of running.chunks("arrow")) chunk.bytes();
    const { rows_scanned, bytes_scanned } = await running.stats();
    scanned.push([rows_scanned, bytes_scanned]);
  }
  deepStrictEqual(scanned[0], scanned[1]);
});

Deno.test("FewRowsDataFiles leaves a file that is cut to the scan, which tells of it", async () => {
  const store = new RemoteStore();
  await using lab = await openLab(store);
  store.answer = (bytes, { key, range }) =>
    key.endsWith(".parquet") && range !== undefined && range.start < 100_000
      ? bytes.fill(0x5a)
      : bytes;
  await rejects(lab.query(NEEDLE));
});

Deno.test("FewRowsDataFiles ends with its statement's signal", async () => {
  const store = new RemoteStore();
  await using lab = await openLab(store);
  store.onRead = ({ key }) => key.endsWith(".parquet") ? new Promise(() => {}) : undefined;
  await rejects(lab.query(NEEDLE, { deadlineMs: 300 }), /deadline|time/i);
});
