/** Which statements are planned for many servers, and why others are not. */

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { present } from "../../base/assert.ts";
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

/** The mode, or the reason of a statement that is not shared. */
async function spread(
  { engine }: EngineLab,
  sql: string,
  fields: Partial<QueryRequest> = {},
): Promise<string> {
  const { spread } = engine as Engine & SpreadingEngine;
  const planned = await spread.call(engine, {
    ...{ sql, namespace: "svc", tenant: "default", defaultOrder: false },
    ...{ rowsMax: 100, deadlineMs: 20_000 },
    ...fields,
  });
  if ("reason" in planned) return planned.reason;
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
