/** Events that servers share statements over, the statements, and how they are asked. */

import assert from "node:assert/strict";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";

const START_NS = 1_795_132_800_000_000_000n;
const FILES = 12;
const ROWS_A_FILE = 4_000;
/** A statement waits as long on a machine that has other work. */
const TIMEOUT_SECS = 240;

/** Options of servers that share a small machine. */
export const FLEET_ARGS = ["--threads", "1", "--memory-pool-bytes", String(256 * 2 ** 20)];

/** Each has one right answer, and a row that counts twice changes it. */
export const STATEMENTS = [
  "SELECT length(raw) AS n, count(*) AS c, max(timestamp_ns)::VARCHAR AS t FROM events GROUP BY 1 ORDER BY 1",
  "SELECT raw FROM events WHERE raw LIKE '%77%' ORDER BY timestamp_ns DESC LIMIT 50",
  "SELECT count(DISTINCT raw) AS d, sum(length(raw)) AS s FROM events WHERE raw LIKE '%1%'",
];

/** Events in several files. */
export async function openSharedEvents(): Promise<WarehouseLab> {
  const lab = await WarehouseLab.open();
  await commitSharedEvents(lab);
  return lab;
}

export async function commitSharedEvents(lab: WarehouseLab, files = FILES): Promise<void> {
  for (let file = 0; file < files; file += 1) {
    await lab.commit(Array.from({ length: ROWS_A_FILE }, (_, at) => ({
      ns: START_NS + BigInt(file * ROWS_A_FILE + at) * 1_000_000n,
      raw: `row ${file * ROWS_A_FILE + at} ${"x".repeat(at % 9)}`,
    })));
  }
}

export interface Told {
  readonly rows: unknown;
  /** Only `/explain` answers it. */
  readonly plan?: string;
  readonly stats: {
    readonly phases: {
      readonly distributed?: {
        readonly mode: string;
        readonly reason?: string;
        readonly shards?: readonly { readonly server: string }[];
      };
    };
  };
}

export interface AskOptions {
  readonly signal?: AbortSignal;
  readonly client?: Deno.HttpClient | undefined;
  readonly token?: string;
}

/** The answer; a server that is full is asked again. Errors: any other answer but 200. */
export async function ask(
  url: string,
  path: string,
  query: string,
  options: AskOptions = {},
): Promise<Told> {
  const { signal, client, token } = options;
  const response = await fetch(`${url}/api/v1/sql${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({
      ...{ query, default_order: false },
      limits: { timeout_seconds: TIMEOUT_SECS },
    }),
    ...(signal === undefined ? {} : { signal }),
    ...(client === undefined ? {} : { client }),
  });
  const text = await response.text();
  if (response.status === 429) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    return await ask(url, path, query, options);
  }
  assert.equal(response.status, 200, `${query}: ${text}`);
  return JSON.parse(text);
}

/** Statements that a server runs now, shards of others among them. */
export async function inFlight(
  { metricsUrl }: { readonly metricsUrl: string },
): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(/^svc_query_in_flight (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
}
