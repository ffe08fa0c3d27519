/**
 * Engines write to a table of a running stack: what they commit is exact on our side, or refused
 * with a reason. Expected rows are written out, and PyIceberg reads the table beside our SQL.
 */

import assert from "node:assert/strict";
import {
  committed,
  record,
  rowsBySql,
  send,
  START_NS,
  startEngineStack,
  TableReader,
  TableWriter,
  until,
} from "./lab.ts";
import { hasPackages, NO_PYTHON, runPython } from "./python.ts";
import type { Stack } from "../apps/stack.ts";

const NAME = "engines write by the REST catalog, and our side stays exact";
const HAS_WRITERS = await hasPackages([
  ...["duckdb", "duckdb_extension_iceberg", "pyiceberg", "pyiceberg_core"],
  ...["chdb", "daft", "datafusion", "polars"],
]);

/** Steps of `write_table.py` in their order, and the texts of all rows after each. */
const OURS = ["ours 0", "ours 1", "ours 2"];
const AFTER_OVERWRITE = ["appended 3 🦊", ...OURS, "overwritten", "with a region"];
const AFTER_CLICKHOUSE = [
  ...AFTER_OVERWRITE.filter((text) => text !== "ours 1"),
  ...["from clickhouse 0", "from clickhouse 2"],
];
const AFTER_FRAMES = [...AFTER_CLICKHOUSE, "from daft", "from polars"];
const STEPS: readonly (readonly [engine: string, step: string, texts: readonly string[]])[] = [
  ["pyiceberg", "append", ["appended 1", "appended 2", "appended 3 🦊", ...OURS]],
  ["pyiceberg", "delete", ["appended 1", "appended 3 🦊", ...OURS]],
  ["pyiceberg", "overwrite", ["appended 3 🦊", ...OURS, "overwritten"]],
  ["pyiceberg", "add_column", AFTER_OVERWRITE],
  ["pyiceberg", "describe", AFTER_OVERWRITE],
  ["clickhouse", "append", [
    ...AFTER_OVERWRITE,
    ...["from clickhouse 0", "from clickhouse 1", "from clickhouse 2"],
  ]],
  // By position deletes, of its own rows and of ours.
  ["clickhouse", "delete", AFTER_CLICKHOUSE],
  ["polars", "append", [...AFTER_CLICKHOUSE, "from polars"]],
  ["daft", "append", AFTER_FRAMES],
  ["duckdb", "append", [...AFTER_FRAMES, "from duckdb 0", "from duckdb 1", "from duckdb 2"]],
  // By position deletes, too.
  ["duckdb", "delete", [
    ...AFTER_FRAMES.filter((text) => text !== "ours 2"),
    ...["from duckdb 0", "from duckdb 2"],
  ]],
  ["duckdb", "update", [
    ...AFTER_FRAMES.filter((text) => text !== "ours 2"),
    ...["from duckdb 0", "updated"],
  ]],
];

const REFUSED: readonly (readonly [step: string, says: RegExp])[] = [
  ["drop_column", /column "attributes" \(id 8\) would go or change/],
  ["rename_column", /column "raw" \(id 7\) would go or change/],
  ["partition", /partitioned by day\(timestamp\) alone/],
  ["expire", /the compactor expires snapshots/],
  ["roll_back", /rows that were acknowledged since would be lost/],
  ["own_property", /"svc\.tags" is this service's own/],
];

/** What our SQL has. */
async function checkOurs(stack: Stack, texts: readonly string[]): Promise<void> {
  const { rows } = await stack.sql("SELECT raw FROM events");
  assert.deepEqual(rows.flat().toSorted(), texts.toSorted());
  assert.deepEqual((await stack.sql("SELECT count(*) FROM events")).rows, [[texts.length]]);
  const { rows: times } = await stack.sql(
    "SELECT timestamp_ns::VARCHAR FROM events ORDER BY timestamp_ns DESC LIMIT 2",
  );
  const all = (await stack.sql("SELECT timestamp_ns::VARCHAR FROM events")).rows.flat()
    .map((text) => BigInt(String(text))).toSorted((a, b) => a < b ? 1 : a > b ? -1 : 0);
  assert.deepEqual(times.flat(), all.slice(0, 2).map(String));
}

/** What our SQL has, and PyIceberg reads. */
async function checkRows(
  { stack, reader }: { readonly stack: Stack; readonly reader: TableReader },
  texts: readonly string[],
): Promise<void> {
  await checkOurs(stack, texts);
  const where = "source = 'shop'";
  const { rows } = await reader.read(where);
  assert.deepEqual(rows, await rowsBySql(stack, where));
}

/** The process of each engine: those that write by PyIceberg's catalog share one. */
const PROCESSES: Readonly<Record<string, string>> = { polars: "pyiceberg", daft: "pyiceberg" };

Deno.test({
  name: HAS_WRITERS ? NAME : `${NAME} (${NO_PYTHON})`,
  ignore: !HAS_WRITERS,
  async fn(t) {
    await using stacked = await startEngineStack({ SVC_ICEBERG_WRITES: "1" });
    const { stack, address } = stacked;
    await using reader = new TableReader("pyiceberg", address);
    await using writers = new AsyncDisposableStack();
    const byProcess = new Map<string, TableWriter>();
    const lab = { stack, reader };
    const write = async (engine: string, step: string) => {
      const process = PROCESSES[engine] ?? engine;
      const writer = byProcess.get(process) ?? writers.use(new TableWriter(address));
      byProcess.set(process, writer);
      return await writer.write(engine, step);
    };
    await send(stack, OURS.map((text, at) => record(START_NS + BigInt(at), text)));
    await committed(stack);
    for (const [engine, step, texts] of STEPS) {
      await t.step(`${engine}: ${step}`, async () => {
        assert.deepEqual(await write(engine, step), {});
        await checkRows(lab, texts);
        // The compactor applies deletes; until then the next one may find that a file has gone.
        await until(async () => {
          const details = await (await fetch(`${stack.queryUrl}/api/v1/tables/events`)).json();
          return details.rows === texts.length;
        }, "the data files have no deleted rows");
        await checkOurs(stack, texts);
      });
    }
    await t.step("what would lose rows or columns is refused with a reason", async () => {
      for (const [step, says] of REFUSED) {
        const answer = await write("pyiceberg", step);
        assert.equal(answer.error, "BadRequestError", step);
        assert.match(answer.says ?? "", says);
      }
      await checkRows(lab, STEPS.at(-1)?.[2] ?? []);
    });
    await t.step("commits that race with drains: no row of either is lost or doubled", async () => {
      const writing = write("pyiceberg", "race");
      let isOver = false;
      const over = writing.then(() => isOver = true);
      const sent: string[] = [];
      while (!isOver) {
        const text = `drained ${sent.length}`;
        sent.push(text);
        await send(stack, [record(START_NS + 500n + BigInt(sent.length), text)]);
        // Ever slower: a writer that takes longer than the time between two drains never wins.
        const pauseMs = Math.min(5_000, 200 * 1.2 ** sent.length);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
      await over;
      assert.deepEqual(await writing, {});
      assert.ok(sent.length > 1, "rows came meanwhile");
      await committed(stack);
      const raced = Array.from({ length: 8 }, (_, at) => `raced ${at}`);
      await checkRows(lab, [...STEPS.at(-1)?.[2] ?? [], ...raced, ...sent]);
    });
    await t.step("docs/engines.md: its blocks run as they are written", async () => {
      const page = new URL("../../docs/engines.md", import.meta.url).pathname;
      const printed = await runPython("run_page.py", [page, address]);
      assert.match(printed, /blocks: 8\n$/);
    });
  },
});
