/**
 * The life of a table on a running stack, and its states as our SQL has them: what other engines
 * must find at each snapshot. Appends, a merge, a delete task, promoted columns, retention.
 */

import assert from "node:assert/strict";
import { parseLosslessJson } from "../../shared/iceberg/lossless_json.ts";
import { svc } from "../apps/svc_process.ts";
import type { Stack } from "../apps/stack.ts";
import {
  committed,
  DAY_NS,
  type EngineStack,
  EXTREMES,
  record,
  remove,
  send,
  START_NS,
  until,
} from "./lab.ts";

/** A table after something had happened to it. */
export interface TableState {
  readonly label: string;
  /** Decimal digits: more than a number keeps. */
  readonly snapshot: string;
  /** When it was committed, Unix milliseconds. */
  readonly committedMs: number;
  readonly columns: readonly string[];
  /** Made by `rowText`, in their order. */
  readonly rows: readonly string[];
}

/** Columns that engines read, each with its kind in `rowText`. */
export const COLUMNS: Readonly<Record<string, "instant" | "integer" | "text" | "double" | "flag">> =
  {
    timestamp: "instant",
    timestamp_ns: "integer",
    source: "text",
    raw: "text",
    attributes: "text",
    big: "integer",
    ratio: "double",
    fine: "flag",
  };
const FIRST_COLUMNS = Object.keys(COLUMNS).slice(0, 5);

/** One text for a row whatever engine has it; its values are text or null. */
export function rowText(columns: readonly string[], values: readonly unknown[]): string {
  return JSON.stringify(columns.map((name, at) => {
    const value = values[at] ?? null;
    if (value === null || COLUMNS[name] !== "double") return value;
    const number = Number(value);
    return Object.is(number, -0) ? "-0" : String(number);
  }));
}

interface Metadata {
  readonly "current-snapshot-id": unknown;
  readonly snapshots: readonly {
    readonly "snapshot-id": unknown;
    readonly "timestamp-ms": number;
    readonly summary: Readonly<Record<string, string>>;
  }[];
}

/** The table's metadata as the REST catalog answers it; `snapshot-id`s are numbers or bigints. */
export async function metadataOf(address: string): Promise<Metadata> {
  const answer = await fetch(`${address}/v1/namespaces/svc/tables/events`);
  return (parseLosslessJson(await answer.text()) as { metadata: Metadata }).metadata;
}

/** What our SQL has now, and the snapshot that it is. */
async function stateOf(
  { stack, address }: EngineStack,
  label: string,
  columns: readonly string[] = FIRST_COLUMNS,
): Promise<TableState> {
  await committed(stack);
  const list = columns.map((name) => name === "timestamp" ? "epoch_us(timestamp)" : `"${name}"`)
    .map((name) => `${name}::VARCHAR`).join(", ");
  let found: TableState | undefined;
  await until(async () => {
    const before = await metadataOf(address);
    const { rows } = await stack.sql(`SELECT ${list} FROM events`);
    const after = await metadataOf(address);
    const snapshot = after["current-snapshot-id"];
    const committedMs = after.snapshots.find((one) => one["snapshot-id"] === snapshot)
      ?.["timestamp-ms"];
    found = {
      ...{ label, columns, snapshot: String(snapshot), committedMs: committedMs ?? 0 },
      rows: rows.map((row) => rowText(columns, row)).toSorted(),
    };
    // Maintenance may have committed in between.
    return before["current-snapshot-id"] === snapshot;
  }, "the table stands still for a statement");
  assert.ok(found !== undefined);
  return found;
}

async function svcDone(stack: Stack, args: readonly string[]): Promise<void> {
  const run = await svc([...args, "--data-dir", stack.dataDir]);
  assert.equal(run.code, 0, run.notes);
}

async function merged({ address }: EngineStack): Promise<void> {
  await until(async () => {
    const { snapshots } = await metadataOf(address);
    return snapshots.some(({ summary }) => summary["svc.rewrite"] === "merge");
  }, "files were merged");
}

/** Rows of the day after the extremes, which retention keeps. */
const NEXT_NS = START_NS + DAY_NS;
const LAST_NS = 9_223_372_036_854_775_807n;
const YEAR_2261_NS = 9_183_110_400_000_000_000n;
const PROMOTED: readonly Readonly<Record<string, unknown>>[] = [
  { big: 9_223_372_036_854_775_807n, ratio: -0, fine: true },
  { big: -9_223_372_036_854_775_808n, ratio: 5e-324, fine: false },
  { big: 0n, ratio: 1.7976931348623157e308 },
  {},
];

/**
 * One state after the other, each of which the table's snapshots still have at the end. `look` is
 * called with each while it is the current one.
 */
export async function live(
  lab: EngineStack,
  look: (state: TableState) => Promise<void> = () => Promise.resolve(),
): Promise<readonly TableState[]> {
  const { stack } = lab;
  const states: TableState[] = [];
  const isNow = async (label: string, columns?: readonly string[]) => {
    const state = await stateOf(lab, label, columns);
    await look(state);
    states.push(state);
  };
  await send(
    stack,
    EXTREMES.map(([text, value], at) => record(START_NS + BigInt(at), text, { "user.id": value })),
  );
  await send(stack, [
    ...[record(NEXT_NS, "the next day"), record(NEXT_NS + 1n, "to be deleted")],
    record(LAST_NS, "the last instant of 64 bits"),
    record(YEAR_2261_NS, "the year 2261"),
  ]);
  await isNow("append");
  for (let at = 0; at < 9; at += 1) {
    const user = { id: BigInt(at), of: { team: "a" } };
    const attributes = { other: `${at}`, user };
    await send(stack, [record(NEXT_NS + 100n + BigInt(at), `small ${at}`, attributes)]);
  }
  await merged(lab);
  await isNow("merge");
  await remove(stack, "raw = 'to be deleted'");
  await isNow("delete");
  const promoted = ["big:long", "ratio:double", "fine:bool"].join(",");
  await svcDone(stack, ["migrate-schema", "--table", "events", "--promote-attr", promoted]);
  await send(
    stack,
    PROMOTED.map((attributes, at) =>
      record(NEXT_NS + 200n + BigInt(at), `promoted ${at}`, attributes)
    ),
  );
  await isNow("promoted columns", Object.keys(COLUMNS));
  // The horizon is an hour before the next day: the day of the extremes is wholly past it.
  const keepSecs = String((BigInt(Date.now()) * 1_000_000n - NEXT_NS) / 1_000_000_000n + 3_600n);
  const sweep = ["retention-sweep", "--table", "events", "--period-secs", keepSecs, "--apply"];
  await svcDone(stack, sweep);
  await isNow("retention", Object.keys(COLUMNS));
  return states;
}

/** Lets maintenance expire every snapshot but the current one; needs `--iceberg-writes`. */
export async function expire({ stack, address }: EngineStack): Promise<void> {
  const answer = await fetch(`${address}/v1/namespaces/svc/tables/events`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      requirements: [],
      updates: [{
        action: "set-properties",
        updates: { "history.expire.max-snapshot-age-ms": "1" },
      }],
    }),
  });
  assert.equal(answer.status, 200, await answer.text());
  // A compactor looks for old snapshots when it starts, and then each minute.
  await stack.stop("compactor");
  await stack.ensure("compactor");
  await until(
    async () => (await metadataOf(address)).snapshots.length === 1,
    "one snapshot is left",
  );
}
