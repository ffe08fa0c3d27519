/** Which statements are planned for many servers, and why others are not. */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { present } from "../../base/assert.ts";
import { textOf } from "../../base/bytes.ts";
import { dayOfNs } from "../../base/time.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { commitDeletes } from "../../testing/foreign_deletes.ts";
import type { Engine, QueryRequest } from "../types.ts";
import type { SpreadingEngine } from "./spread.ts";

const START_NS = 1_795_132_800_000_000_000n;
const ROWS = 20;
const SCAN = "SELECT raw FROM events WHERE raw LIKE '%7'";

async function openLab(): Promise<EngineLab> {
  const lab = await EngineLab.open();
  await lab.commit(
    Array.from({ length: ROWS }, (_, at) => ({ ns: START_NS + BigInt(at), raw: `row ${at}` })),
    { derived: true },
  );
  return lab;
}

function plan({ engine }: EngineLab, sql: string, fields: Partial<QueryRequest> = {}) {
  const { spread } = engine as Engine & SpreadingEngine;
  return spread.call(engine, {
    ...{ sql, namespace: "svc", tenant: "default", defaultOrder: false },
    ...{ rowsMax: 100, deadlineMs: 20_000 },
    ...fields,
  });
}

/** The mode, or the reason of a statement that is not shared. */
async function spread(
  lab: EngineLab,
  sql: string,
  fields: Partial<QueryRequest> = {},
): Promise<string> {
  const planned = await plan(lab, sql, fields);
  if ("reason" in planned) {
    await planned.alone?.[Symbol.asyncDispose]();
    return planned.reason;
  }
  using held = planned;
  return held.split.mode;
}

Deno.test({
  name: "Engine.spread shares no rows of a table of which another engine deleted some",
  async fn() {
    await using lab = await openLab();
    strictEqual(await spread(lab, SCAN), "scan");
    const { store, catalog, clock, random } = lab;
    const listed = await Array.fromAsync(store.list(""));
    const { key } = present(listed.find(({ key }) => key.endsWith(".parquet")));
    const location = `${store.rootUri}/${key}`;
    await commitDeletes({ store, catalog, clock, random }, { namespace: "svc", name: "events" }, [{
      ...{ kind: "position", day: dayOfNs(START_NS), rows: [{ location, place: 7 }] },
    }]);
    strictEqual(
      await spread(lab, SCAN),
      "another engine deleted rows of events, which one server leaves out",
    );
    deepStrictEqual((await lab.query(SCAN)).rows, [["row 17"]]);
  },
});

Deno.test({
  name: "Engine.spread shares nothing that summaries answer, unless rows are to be read",
  async fn() {
    await using lab = await openLab();
    const count = "SELECT count(*) AS n FROM events";
    strictEqual(await spread(lab, count), "summaries answer it");
    strictEqual(await spread(lab, count, { fastPaths: false }), "aggregate");
  },
});

Deno.test({
  name: "Engine.spread gives a statement that summaries answer as it was planned, ready to run",
  async fn() {
    await using lab = await openLab();
    const planned = await plan(lab, "SELECT count(*) AS n FROM events WHERE raw <> 'x'");
    ok(!("alone" in planned), "rows answer it");
    if (!("reason" in planned)) planned[Symbol.dispose]();
    const counted = await plan(lab, "SELECT count(*) AS n FROM events");
    ok("alone" in counted && counted.alone !== undefined);
    await using alone = counted.alone;
    strictEqual(alone.servedBy, (await lab.query("SELECT count(*) FROM events")).stats.served_by);
    await using running = await alone.run();
    const [chunk, ...more] = await Array.fromAsync(running.chunks("arrays"));
    strictEqual(textOf(present(chunk).bytes()), `[${ROWS}],`);
    deepStrictEqual(more, []);
  },
});
