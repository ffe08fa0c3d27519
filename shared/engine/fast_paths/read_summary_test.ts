import assert from "node:assert/strict";
import { WeighedCache } from "../../base/weighed_cache.ts";
import { batchOfRows } from "../../columns/rows.ts";
import { INLINE_DERIVER } from "../../derived/deriver.ts";
import { sidecarKey } from "../../derived/sidecar.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { RemoteStore } from "../../testing/remote_store.ts";
import { TableLab } from "../../testing/table_lab.ts";
import { eventRow } from "../../testing/warehouse_lab.ts";
import { SidecarFooters } from "../files/sidecar_footers.ts";
import { readSummary } from "./read_summary.ts";

const ROWS = 300;
const HOST = 3;

/** A data file's sidecar in a store, its footer known, and how it is replaced and read. */
async function openLab() {
  await using tables = await TableLab.open();
  const added = tables.newFile({ locationKey: "svc/events" }, { day: 20_000, rows: ROWS });
  const values = Array.from(
    { length: ROWS },
    (_, i) => eventRow({ ns: BigInt(i) * 1_000n, host: `h${i % 3}`, raw: `row w${i} is here` }),
  );
  const content = {
    schema: EVENTS_SCHEMA,
    rows: ROWS,
    batches: [batchOfRows(EVENTS_SCHEMA, values)],
    rowGroupRows: ROWS,
  };
  const text = [{ name: "raw", tokenizer: "default" as const }];
  const key = sidecarKey(added.key);
  const store = new RemoteStore();
  await store.putNew(key, await INLINE_DERIVER.derive({ ...content, text: undefined }, added));
  const sidecars = new SidecarFooters(new WeighedCache(1_000_000), () => 0);
  await sidecars.read(store, added);
  const replace = async (bytes: Uint8Array) => {
    await store.delete([key]);
    await store.putNew(key, bytes);
  };
  const deps = { store, sidecars };
  return {
    /** What mending leaves, with blobs in other places. */
    anew: await INLINE_DERIVER.derive({ ...content, text }, added),
    replace,
    counts: () => readSummary(deps, added, (summary) => summary.groupCounts(HOST)),
  };
}

Deno.test("readSummary uses a summary that was made anew since its footer was read", async () => {
  const { anew, replace, counts } = await openLab();
  await replace(anew);
  assert.deepEqual([...(await counts())?.counts ?? []], [0, 100, 100, 100]);
});

Deno.test("readSummary uses no summary that fails with its footer read again", async () => {
  const { anew, replace, counts } = await openLab();
  await replace(anew.map((byte, at) => at < anew.length / 2 ? byte ^ 1 : byte));
  assert.equal(await counts(), undefined);
});
