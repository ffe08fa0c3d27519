/**
 * An answer as Arrow has the values of the same answer as records, whatever the statement, and
 * fails where that fails. Parquet holds what Arrow does.
 */

import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import { tableFromIPC } from "apache-arrow";
import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { startLabServer } from "../doubles/lab_server.ts";

const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const ROWS = 5_000;
const ARROW = "application/vnd.apache.arrow.stream";

/** Their values are texts and small numbers, which all formats write alike. */
const STATEMENTS: readonly string[] = [
  "SELECT raw, source, host FROM events ORDER BY timestamp_ns",
  "SELECT raw FROM events LIMIT 3000",
  "SELECT raw FROM events WHERE raw = 'absent'",
  "SELECT count(*)::INTEGER AS n FROM events",
  "SELECT raw AS a, raw AS a, 1 AS b FROM events ORDER BY timestamp_ns DESC LIMIT 10",
  "SELECT [raw, NULL, 'x'] AS l, {'r': raw, 'n': NULL} AS s FROM events ORDER BY timestamp_ns",
  "SELECT CASE WHEN i % 3 = 0 THEN NULL ELSE [[i::INTEGER], [], NULL] END AS l FROM range(5000) AS r(i)",
  "SELECT CASE WHEN i % 7 = 0 THEN NULL ELSE i::INTEGER END AS n, i % 5 = 0 AS b FROM range(9999) AS r(i)",
  "SELECT list_filter([i::INTEGER, 7, i::INTEGER + 1], lambda x: x % 3 > 0) AS l FROM range(3000) AS r(i)",
  "SELECT repeat('é', i::INTEGER % 30) AS s, (i - 9)::TINYINT AS t FROM range(100) AS r(i)",
  "SELECT uuid()::VARCHAR IS NULL AS u, INTERVAL 1 DAY AS iv, NULL AS nothing, [1, 2]::INTEGER[2] AS arr",
  "SELECT {'u': '5b8efff7-98d9-4a0b-9ad3-5cb2ba1b5cb2'::UUID} AS nested",
];

function openLab(): Promise<WarehouseLab> {
  return WarehouseLab.open().then(async (lab) => {
    await lab.commit(Array.from({ length: ROWS }, (_, at) => ({
      ns: START_NS + BigInt(at) * 1_000_000n,
      raw: at % 11 === 0 ? "" : `row ${at} ${"x".repeat(at % 40)}`,
      attributes: at % 3 === 0 ? null : JSON.stringify({ severity_text: "ERROR" }),
    })));
    return lab;
  });
}

async function ask(
  url: string,
  body: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return await fetch(`${url}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

async function bytesOf(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  if (response.status !== 200) throw new Error(await response.text());
  return new Uint8Array(await response.arrayBuffer());
}

function arrowRows(bytes: Uint8Array): unknown[][] {
  const table = tableFromIPC(bytes);
  return table.toArray().map((row) => Object.values(JSON.parse(JSON.stringify(row.toJSON()))));
}

async function parquetRows(bytes: Uint8Array<ArrayBuffer>): Promise<unknown[][]> {
  const rows = await parquetReadObjects({ file: bytes.buffer, compressors });
  return rows.map((row) => Object.values(row));
}

Deno.test({
  name: "an answer as Arrow or Parquet has the rows of the records answer",
  async fn() {
    await using lab = await openLab();
    await using server = await startLabServer(lab);
    for (const query of STATEMENTS) {
      const body = { query, default_order: true };
      const { rows } = await (await ask(server.url, body)).json();
      const arrow = await bytesOf(await ask(server.url, { ...body, format: "arrow" }));
      // A nested value that Arrow has no type for is its JSON text.
      const wanted = query.includes("nested") ? [[JSON.stringify(rows[0][0])]] : rows;
      deepStrictEqual(arrowRows(arrow), wanted, query);
      const parquet = await bytesOf(await ask(server.url, { ...body, format: "parquet" }));
      if (!query.includes("[")) deepStrictEqual(await parquetRows(parquet), wanted, query);
    }
  },
});

Deno.test({
  name: "seconds are instants in Arrow and Parquet, also within lists, structs and maps",
  async fn() {
    await using lab = await openLab();
    await using server = await startLabServer(lab);
    const second = "TIMESTAMP_S '0001-01-02 03:04:05'";
    const query = `SELECT ${second} AS a, [${second}] AS b, array_value(${second}) AS c,
      {'"TIMESTAMP_S': ${second}} AS d, MAP {'k': ${second}} AS e, NULL::TIMESTAMP_S AS f`;
    const [arrow, parquet] = await Promise.all(
      ["arrow", "parquet"].map(async (format) =>
        await bytesOf(await ask(server.url, { query, format }))
      ),
    );
    const ms = Date.parse("0001-01-02T03:04:05Z");
    deepStrictEqual(arrowRows(arrow ?? new Uint8Array()), [
      [ms, [ms], [ms], { '"TIMESTAMP_S': ms }, { k: ms }, null],
    ]);
    const at = new Date(ms);
    deepStrictEqual(await parquetRows(parquet ?? new Uint8Array()), [
      [at, [at], [at], { '"TIMESTAMP_S': at }, { k: at }, null],
    ]);
  },
});

Deno.test({
  name: "Accept asks for Arrow, and a download has the name that was given",
  async fn() {
    await using lab = await openLab();
    await using server = await startLabServer(lab);
    const query = "SELECT 1 AS n";
    const byAccept = await ask(server.url, { query }, { accept: ARROW });
    strictEqual(byAccept.headers.get("content-type"), ARROW);
    deepStrictEqual(arrowRows(await bytesOf(byAccept)), [[1]]);
    const named = await ask(server.url, { query, format: "arrow", download: 'errors "é"' });
    strictEqual(
      named.headers.get("content-disposition"),
      `attachment; filename="errors ___.arrows"; filename*=UTF-8''errors%20%22%C3%A9%22.arrows`,
    );
    await named.body?.cancel();
    const records = await ask(server.url, { query, format: "records" }, { accept: ARROW });
    deepStrictEqual((await records.json()).rows, [[1]]);
  },
});

Deno.test({
  name: "an Arrow or Parquet answer that is not whole is no answer",
  async fn() {
    await using lab = await openLab();
    await using server = await startLabServer(lab);
    for (const format of ["arrow", "parquet"]) {
      const limits = { max_rows_returned: 3_000 };
      const whole = async (asked: Readonly<Record<string, unknown>>) =>
        await bytesOf(await ask(server.url, { ...asked, format }));
      await rejects(whole({ query: "SELECT raw FROM events", limits }), format);
      const bad = await ask(server.url, { query: "SELECT absent FROM events", format });
      strictEqual(bad.status, 400);
      match((await bad.json()).error, /absent/);
      await rejects(
        whole({
          query:
            "SELECT CASE WHEN i = 90000 THEN error('late') ELSE i END AS n FROM range(100000) AS r(i)",
        }),
        format,
      );
    }
  },
});

Deno.test({
  name: "few Parquet files are written at once, and one that is left gives its place back",
  async fn() {
    await using lab = await openLab();
    await using server = await startLabServer(lab);
    const query = "SELECT i, md5(i::VARCHAR) AS s FROM range(1000000) AS r(i)";
    const asked = { query, format: "parquet" };
    for (let round = 0; round < 2; round += 1) {
      const [first, second] = [await ask(server.url, asked), await ask(server.url, asked)];
      const third = await ask(server.url, asked);
      strictEqual(third.status, 429);
      strictEqual(third.headers.get("retry-after"), "5");
      strictEqual((await third.json()).reason, "parquet_busy");
      await first.body?.cancel();
      await second.body?.cancel();
      // The server hears of it a little later.
      for (;;) {
        const again = await ask(server.url, { query: "SELECT 1 AS n", format: "parquet" });
        await again.body?.cancel();
        if (again.status === 200) break;
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  },
});
