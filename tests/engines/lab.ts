/** A stack whose table other engines read and write, and the rows of it as our SQL has them. */

import assert from "node:assert/strict";
import { Stack } from "../apps/stack.ts";
import { startPython } from "./python.ts";
import type { TalkingProcess } from "./talking_process.ts";

export const DAY_NS = 86_400_000_000_000n;
export const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const DONE_MS_MAX = 60_000;

/** Texts and attributes that readers get wrong. */
export const EXTREMES: readonly (readonly [body: string, value: unknown])[] = [
  ["", null],
  ["NUL \u0000 and \u202e bidi", ""],
  ["emoji 🦊, combining e\u0301", "ß"],
  ['"quotes" \\ and \n lines', '{"a": 1}'],
  ["a".repeat(1_000_000), "long"],
  ["largest", "9223372036854775807"],
  ["numbers", -0],
  ["subnormal", 5e-324],
];

export interface EngineStack extends AsyncDisposable {
  readonly stack: Stack;
  /** Address of the REST catalog. */
  readonly address: string;
}

export async function startEngineStack(
  env: Readonly<Record<string, string>> = {},
): Promise<EngineStack> {
  const stack = await Stack.start({
    rollAgeSecs: 1,
    // One more table, which other engines list and read, too.
    audit: true,
    env: { SVC_COMMIT_MAX_AGE_SECS: "1", ...env },
  });
  return {
    stack,
    address: `${stack.queryUrl}/iceberg`,
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  };
}

/** OTLP/JSON of one record. */
export function record(
  ns: bigint,
  text: string,
  attributes: Readonly<Record<string, unknown>> = {},
): string {
  const pairs = Object.entries(attributes).map(([key, value]) => ({
    key,
    value: valueOf(value),
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

function valueOf(value: unknown): Record<string, unknown> {
  if (value === null) return {};
  if (typeof value === "bigint") return { intValue: String(value) };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "object") {
    const values = Object.entries(value).map(([key, one]) => ({ key, value: valueOf(one) }));
    return { kvlistValue: { values } };
  }
  return typeof value === "number" ? { doubleValue: value } : { stringValue: value };
}

export async function send({ ingestUrl }: Stack, bodies: readonly string[]): Promise<void> {
  for (const one of bodies) {
    const response = await fetch(`${ingestUrl}/v1/logs?commit=force`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: one,
    });
    assert.equal(response.status, 200, await response.text());
  }
}

/** Deletes rows by a task of ours. */
export async function remove({ queryUrl }: Stack, predicate: string): Promise<void> {
  const tasks = `${queryUrl}/api/v1/delete-tasks`;
  const made = await fetch(tasks, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ index_id: "events", predicate_sql: predicate }),
  });
  const { task_id } = await made.json();
  await until(async () => {
    const task = await (await fetch(`${tasks}/${task_id}`)).json();
    if (task.ended_at !== undefined) assert.equal(task.status, "done");
    return task.ended_at !== undefined;
  }, "the delete task has ended");
}

/** Errors: an `Error` when `isTrue` has not become so within a minute. */
export async function until(isTrue: () => Promise<boolean>, what: string): Promise<void> {
  for (const deadline = Date.now() + DONE_MS_MAX; !await isTrue();) {
    assert.ok(Date.now() < deadline, `not within ${DONE_MS_MAX} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Waits until the WAL has nothing that the table lacks: readers of the table see all rows. */
export async function committed(stack: Stack): Promise<void> {
  const count = async (sql: string) => (await stack.sql(sql)).rows[0]?.[0];
  await until(async () => {
    const { rows } = await stack.sql("SELECT count(*) FROM events");
    const files = await (await fetch(`${stack.queryUrl}/api/v1/tables/events`)).json();
    return rows[0]?.[0] === files.rows;
  }, `all rows are committed: ${await count("SELECT count(*) FROM events")}`);
}

/** The rows that a statement of ours has, each as a line of JSON, in the lines' order. */
export async function rowsBySql(stack: Stack, where: string): Promise<string[]> {
  const { rows } = await stack.sql(
    `SELECT epoch_us(timestamp)::VARCHAR, timestamp_ns::VARCHAR, source, raw, attributes::VARCHAR
     FROM events WHERE ${where}`,
  );
  return rows.map((row) => JSON.stringify(row)).toSorted();
}

export interface ReadByEngine {
  /** Data files that were planned; null: the engine does not tell. */
  readonly files: number | null;
  readonly rows: readonly string[];
}

/** Rows as an engine reads them, of each condition. `env`: variables that `engines.py` names. */
export async function rowsByEngine(
  engine: string,
  address: string,
  conditions: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ReadByEngine[]> {
  await using reader = new TableReader(engine, address, env);
  return await Array.fromAsync(conditions, (where) => reader.read(where));
}

/** An engine in a process of its own, which reads the table as often as it is asked. */
export class TableReader implements AsyncDisposable {
  readonly #process: TalkingProcess;

  constructor(engine: string, address: string, env: Readonly<Record<string, string>> = {}) {
    this.#process = startPython("read_table.py", [engine, address], env);
  }

  async read(where: string): Promise<ReadByEngine> {
    await this.#process.tell(where);
    const { rows: count, files } = JSON.parse(await this.#process.line());
    const rows: string[] = [];
    while (rows.length < count) rows.push(JSON.stringify(JSON.parse(await this.#process.line())));
    return { files, rows: rows.toSorted() };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]();
  }
}

/** What an engine says of one of its steps; no `error`: it is done. */
export interface Written {
  readonly error?: string;
  readonly says?: string;
}

/** A process of `write_table.py`, which takes steps one after the other. */
export class TableWriter implements AsyncDisposable {
  readonly #process: TalkingProcess;

  constructor(address: string) {
    this.#process = startPython("write_table.py", [address]);
  }

  /** What the engine says of the step. Engines print lines of their own, too. */
  async write(engine: string, step: string): Promise<Written> {
    await this.#process.tell(`${engine} ${step}`);
    for (;;) {
      const line = await this.#process.line();
      if (line.startsWith("{")) return JSON.parse(line);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#process[Symbol.asyncDispose]();
  }
}
