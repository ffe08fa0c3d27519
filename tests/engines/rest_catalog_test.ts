/**
 * PyIceberg and DuckDB read a table of a running stack by its REST catalog. After drains and a
 * delete they have the very rows that our SQL has.
 */

import assert from "node:assert/strict";
import { Stack } from "../apps/stack.ts";
import { HAS_PYTHON, NO_PYTHON, runPython } from "./python.ts";

const NAME = "PyIceberg and DuckDB read by the REST catalog what SQL answers";
const DAY_NS = 86_400_000_000_000n;
const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const DONE_MS_MAX = 60_000;

/** Texts and attributes that readers get wrong. */
const EXTREMES: readonly (readonly [body: string, value: unknown])[] = [
  ["", null],
  ["NUL \u0000 and \u202e bidi", ""],
  ["emoji 🦊, combining e\u0301", "ß"],
  ['"quotes" \\ and \n lines', '{"a": 1}'],
  ["a".repeat(1_000_000), "long"],
  ["largest", "9223372036854775807"],
];

/** OTLP/JSON of one record. */
function body(ns: bigint, text: string, attributes: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(attributes).map(([key, value]) => ({
    key,
    value: value === null ? {} : { stringValue: value },
  }));
  return JSON.stringify({
    resourceLogs: [{
      resource: { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] },
      scopeLogs: [{
        logRecords: [{
          timeUnixNano: String(ns),
          severityText: "INFO",
          body: { stringValue: text },
          attributes: pairs,
        }],
      }],
    }],
  });
}

async function send({ ingestUrl }: Stack, bodies: readonly string[]): Promise<void> {
  for (const one of bodies) {
    const response = await fetch(`${ingestUrl}/v1/logs?commit=force`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: one,
    });
    assert.equal(response.status, 200, await response.text());
  }
}

async function remove({ queryUrl }: Stack, predicate: string): Promise<void> {
  const tasks = `${queryUrl}/api/v1/delete-tasks`;
  const headers = { "content-type": "application/json" };
  const made = await fetch(tasks, {
    method: "POST",
    headers,
    body: JSON.stringify({ index_id: "events", predicate_sql: predicate }),
  });
  const { task_id } = await made.json();
  const deadline = Date.now() + DONE_MS_MAX;
  for (;;) {
    const task = await (await fetch(`${tasks}/${task_id}`)).json();
    if (task.ended_at !== undefined) return assert.equal(task.status, "done");
    assert.ok(Date.now() < deadline, JSON.stringify(task));
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function rowsBySql(stack: Stack, where: string): Promise<string[]> {
  const { rows } = await stack.sql(
    `SELECT epoch_us(timestamp)::VARCHAR, timestamp_ns::VARCHAR, source, raw, attributes::VARCHAR
     FROM events WHERE ${where}`,
  );
  return rows.map((row) => JSON.stringify(row)).toSorted();
}

Deno.test({
  name: HAS_PYTHON ? NAME : `${NAME} (${NO_PYTHON})`,
  ignore: !HAS_PYTHON,
  async fn(t) {
    await using stack = await Stack.start({
      rollAgeSecs: 1,
      env: { SVC_COMMIT_MAX_AGE_SECS: "1" },
    });
    const extremes = EXTREMES.map(([text, value], at) =>
      body(START_NS + BigInt(at), text, { "user.id": value })
    );
    await send(stack, extremes);
    await send(stack, [
      body(START_NS + DAY_NS, "the next day", { other: "1" }),
      body(START_NS + DAY_NS + 1n, "to be deleted", {}),
      body(9_223_372_036_854_775_807n, "the last instant of 64 bits", {}),
    ]);
    await remove(stack, "raw = 'to be deleted'");
    const all = EXTREMES.length + 2;
    const ofOneDay = "timestamp >= '2026-11-21T00:00:00+00:00' AND " +
      "timestamp < '2026-11-22T00:00:00+00:00'";
    const address = `${stack.queryUrl}/iceberg`;
    for (const engine of ["pyiceberg", "duckdb"]) {
      for (const [where, count] of [["source = 'shop'", all], [ofOneDay, 1]] as const) {
        await t.step(`${engine}: ${where}`, async () => {
          const printed = await runPython("read_table.py", [engine, address, where]);
          const [files, ...rows] = printed.trimEnd().split("\n");
          const canonical = rows.map((row) => JSON.stringify(JSON.parse(row))).toSorted();
          assert.equal(canonical.length, count);
          assert.deepEqual(canonical, await rowsBySql(stack, where));
          // A day is a partition: other days' files are not planned.
          if (files !== "null" && count === 1) assert.equal(files, "1");
        });
      }
    }
  },
});
