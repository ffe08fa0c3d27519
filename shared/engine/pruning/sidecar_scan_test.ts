import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { batchOfRows } from "../../columns/rows.ts";
import { INLINE_DERIVER } from "../../derived/deriver.ts";
import { sidecarKey } from "../../derived/sidecar.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { RemoteStore } from "../../testing/remote_store.ts";

const START_NS = 1_790_000_000_000_000_000n;
const ROWS_A_FILE = 4_000;
const FILES = 4;

/**
 * Four files with sidecars in a store that is elsewhere; row n has the word `wn`, digits that
 * hardly compress, and `common`.
 */
async function openLab(): Promise<{ lab: EngineLab; store: RemoteStore }> {
  const store = new RemoteStore();
  const lab = await EngineLab.open({ store });
  const known = new Set<string>();
  for (let file = 0; file < FILES; file += 1) {
    const rows = Array.from({ length: ROWS_A_FILE }, (_, i) => {
      const at = file * ROWS_A_FILE + i;
      const noise = String(Math.sin(at) * 1e9 % 1).slice(2);
      return {
        ns: START_NS + BigInt(at) * 1_000n,
        raw: `common w${at} x${noise}`,
        host: `h${file}`,
      };
    });
    await lab.commit(rows, { rowGroupRowsMax: 1_000 });
    for await (const { key } of store.list("")) {
      if (!key.endsWith(".parquet") || known.has(key)) continue;
      known.add(key);
      const batch = batchOfRows(
        EVENTS_SCHEMA,
        rows.map(({ ns, raw, host }) => ({
          ...{ timestamp: ns / 1_000n, timestamp_ns: ns, host, raw },
          ...{ source: "s", sourcetype: "t", index: "main", attributes: null },
        })),
      );
      const sidecar = await INLINE_DERIVER.derive({
        schema: EVENTS_SCHEMA,
        rows: rows.length,
        batches: [batch],
        text: [{ name: "raw", tokenizer: "default" }],
        rowGroupRows: 1_000,
      }, { key, rows: rows.length });
      await store.putNew(sidecarKey(key), sidecar);
    }
  }
  store.reads.length = 0;
  return { lab, store };
}

Deno.test({
  name: "on an object store pieces of indexes are range reads of class index, and spare data",
  fn: async () => {
    const { lab, store } = await openLab();
    await using _lab = lab;
    const sql = "SELECT raw FROM events WHERE match_terms(raw, 'w9700')";
    const { rows, stats: { scan } } = await lab.query(sql);
    strictEqual(rows.length, 1);
    ok((scan?.bytes_index ?? 0) > 0);
    const classes = [scan?.bytes_footer, scan?.bytes_index, scan?.bytes_data, scan?.bytes_other];
    strictEqual(classes.reduce((sum: number, bytes) => sum + (bytes ?? 0), 0), scan?.fetched_bytes);
    // The store does not record that it told the sidecars' sizes.
    strictEqual(scan?.object_store_reads, store.reads.length + FILES);
    deepStrictEqual([scan?.files_pruned_bloom, scan?.files_planned], [FILES - 1, 1]);
    deepStrictEqual([scan?.row_groups_considered, scan?.row_groups_read], [4 * FILES, 1]);
    // Nothing was read of the data files that the index left out.
    strictEqual(new Set(store.dataReads.map(({ key }) => key)).size, 1);
    const again = (await lab.query(sql)).stats.scan;
    deepStrictEqual([again?.object_store_reads, again?.bytes_index], [0, undefined]);
  },
});

Deno.test({
  name: "explain tells what indexes left out, and reads no rows",
  fn: async () => {
    const { lab, store } = await openLab();
    await using _lab = lab;
    await using prepared = await lab.prepare(
      "SELECT raw FROM events WHERE match_terms(raw, 'w9700')",
    );
    const [table] = prepared.tables;
    deepStrictEqual(
      [table?.files, table?.files_pruned_bloom, table?.row_groups_pruned_bloom],
      [1, FILES - 1, 4 * FILES - 1],
    );
    ok(prepared.cost.estimated_rows_processed <= 1_000);
    // One footer: these row groups are not as long as ours.
    strictEqual(store.dataReads.length, 1);
  },
});

Deno.test({
  name: "words of every row cost no more files, rows or parts than without indexes",
  fn: async () => {
    const { lab } = await openLab();
    await using _lab = lab;
    const { rows, stats: { scan } } = await lab.query(
      "SELECT count(*) FROM events WHERE match_terms(raw, 'common')",
      { fastPaths: false },
    );
    deepStrictEqual(rows, [[FILES * ROWS_A_FILE]]);
    deepStrictEqual(
      [scan?.files_planned, scan?.planned_rows, scan?.row_groups_pruned_bloom],
      [FILES, FILES * ROWS_A_FILE, 0],
    );
  },
});
