import assert from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import type { RowShape } from "../types.ts";

const START_NS = 1_790_000_000_000_000_000n; // 2026-09-21T14:13:20Z
const FILES = 6;
const ROWS_A_FILE = 20_000;

/**
 * Files one after the other in time, but for the last two, which overlap; rows in the WAL after
 * them.
 */
async function openLab(): Promise<EngineLab> {
  const lab = await EngineLab.open({ wal: true });
  for (let file = 0; file < FILES; file += 1) {
    const first = Math.min(file, FILES - 1.5) * ROWS_A_FILE;
    await lab.commit(
      Array.from({ length: ROWS_A_FILE }, (_, i) => rowOf(Math.floor(first) + i, file)),
    );
  }
  await lab.append([rowOf(FILES * ROWS_A_FILE, FILES), rowOf(FILES * ROWS_A_FILE + 1, FILES)]);
  return lab;
}

/** Four rows a microsecond, and ties in the nanosecond. */
function rowOf(i: number, file: number) {
  return {
    ns: START_NS + BigInt(i) * 250n - BigInt(i % 2) * 250n,
    host: `h${i % 7}`,
    raw: `${file}/${i}`,
  };
}

/** Rows as NDJSON streams them; `afterFirst` is called when the first have come. */
async function streamed(
  lab: EngineLab,
  sql: string,
  { rowsMax = 1_000_000, shape = "objects", afterFirst }: {
    readonly rowsMax?: number;
    readonly shape?: RowShape;
    readonly afterFirst?: () => Promise<void>;
  } = {},
) {
  await using prepared = await lab.engine.prepare({
    ...{ sql, rowsMax, namespace: "svc", tenant: "default", defaultOrder: true },
    ...{ deadlineMs: 60_000, fastPaths: false },
  });
  await using running = await prepared.run();
  let text = "";
  for await (const chunk of running.chunks(shape)) {
    if (text === "") await afterFirst?.();
    text += new TextDecoder().decode(chunk.bytes());
  }
  return { text, rows: text.split("\n").slice(0, -1), stats: await running.stats() };
}

/** The data file that was committed first, which has the oldest rows. */
async function oldestFile({ dir }: EngineLab): Promise<string> {
  const found: { readonly path: string; readonly ms: number }[] = [];
  const search = async (folder: string) => {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const path = `${folder}/${name}`;
      if (isDirectory) await search(path);
      else if (name.endsWith(".parquet")) {
        found.push({ path, ms: (await Deno.stat(path)).mtime?.getTime() ?? 0 });
      }
    }
  };
  await search(`${dir}/warehouse`);
  const [oldest] = found.sort((one, other) => one.ms - other.ms);
  assert.ok(oldest !== undefined);
  return oldest.path;
}

Deno.test({
  name: "an ordered stream has its first rows before the last file is opened",
  async fn() {
    await using lab = await openLab();
    const sql = "SELECT * FROM events ORDER BY timestamp DESC";
    // Only a scan that has not opened the file yet misses it.
    const afterFirst = async () => await Deno.remove(await oldestFile(lab));
    await assert.rejects(streamed(lab, sql, { afterFirst }), { code: "unavailable" });
  },
});

Deno.test({
  name: "an ordered stream has all rows in order, and each is read once",
  async fn() {
    await using lab = await openLab();
    for (const direction of ["DESC", "ASC"]) {
      const sql =
        `SELECT timestamp_ns::VARCHAR AS ns, raw FROM events ORDER BY timestamp ${direction}, ` +
        `timestamp_ns ${direction}`;
      const { rows, stats, text } = await streamed(lab, sql);
      assert.equal(rows.length, FILES * ROWS_A_FILE + 2);
      assert.equal(stats.rows_scanned, rows.length);
      const whole = await lab.query(`SELECT string_agg(ns, '') FROM (${sql}) AS rows`);
      const times = rows.map((row) => JSON.parse(row).ns as string);
      assert.equal(times.join(""), whole.rows[0]?.[0]);
      assert.equal(new Set(text.split("\n")).size, rows.length + 1);
    }
  },
});

Deno.test({
  name: "files beyond the last wanted row are not opened",
  async fn() {
    await using lab = await openLab();
    // Fewer rows would be found before the scan begins.
    const sql = "SELECT raw FROM events WHERE host = 'h3' ORDER BY timestamp DESC LIMIT 2500";
    for (const shape of ["objects", "arrays"] as const) {
      const { stats } = await streamed(lab, sql, { shape });
      assert.equal(stats.scan?.ordering, "filtered");
      assert.ok((stats.scan?.files_read ?? FILES) < FILES, `${stats.scan?.files_read} files`);
      const { planned_bytes = 0 } = stats.scan ?? {};
      assert.ok(stats.bytes_scanned > 0 && stats.bytes_scanned < planned_bytes / 2);
    }
    const all = await streamed(
      lab,
      "SELECT raw FROM events WHERE length(raw) > 99 ORDER BY timestamp",
    );
    assert.equal(all.rows.length, 0);
    assert.equal(all.stats.scan?.files_read, FILES + 1);
    assert.equal(all.stats.bytes_scanned, all.stats.scan.planned_bytes);
  },
});

Deno.test({
  name: "a statement in steps gives the rows of one scan, whatever its order, filter and limits",
  async fn() {
    await using lab = await openLab();
    const random = new SeededRandom(Number(Deno.env.get("SVC_TEST_SEED") ?? 41));
    const pick = <T>(...of: readonly T[]) => of[Math.floor(random.float() * of.length)] as T;
    for (let round = 0; round < 12; round += 1) {
      const direction = pick("DESC", "ASC");
      const where = pick(
        "",
        "WHERE host = 'h3'",
        "WHERE raw LIKE '%77%'",
        "WHERE timestamp >= '2026-09-21T14:13:20.012Z'",
      );
      const limit = pick("", "LIMIT 5", "LIMIT 30000", "LIMIT 70000", "LIMIT 100 OFFSET 25000");
      const sql = `SELECT timestamp_ns::VARCHAR AS ns FROM events ${where} ` +
        `ORDER BY timestamp ${direction}, timestamp_ns ${direction} ${limit}`;
      const { rows } = await streamed(lab, sql);
      const whole = await lab.query(
        `SELECT coalesce(string_agg(ns, ''), '') FROM (${sql}) AS rows`,
      );
      assert.equal(rows.map((row) => JSON.parse(row).ns).join(""), whole.rows[0]?.[0], sql);
    }
  },
});

Deno.test({
  name: "no more rows than allowed and one are given, also over several steps",
  async fn() {
    await using lab = await openLab();
    for (const rowsMax of [10, 30_000, 50_000]) {
      for (const shape of ["objects", "arrays"] as const) {
        const sql = "SELECT host FROM events ORDER BY timestamp DESC";
        const { text } = await streamed(lab, sql, { rowsMax, shape });
        const rows = text.split(shape === "objects" ? "\n" : "],").length - 1;
        assert.ok(rows === rowsMax + 1, `${rows} rows of ${rowsMax}`);
      }
    }
  },
});
