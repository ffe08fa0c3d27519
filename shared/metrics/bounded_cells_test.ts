import assert from "node:assert/strict";
import { BoundedCells, OTHER } from "./bounded_cells.ts";
import { createMetrics } from "./metrics.ts";

Deno.test({
  name: "BoundedCells: the first few have series of their own, all others one",
  async fn() {
    const metrics = createMetrics({
      rows: { kind: "counter", name: "svc_rows_total", help: "rows", labels: { tenant: [] } },
    }, { version: "1", role: "test" });
    const cells = new BoundedCells(metrics.rows, { seriesMax: 2, other: { tenant: OTHER } });
    for (let tenant = 0; tenant < 1_000; tenant += 1) {
      for (const rows of [1, 10]) {
        cells.at(`t${tenant}`, () => ({ tenant: `t${tenant}` })).add(rows);
      }
    }
    const { text } = await metrics.render(null);
    assert.deepEqual(text.split("\n").filter((line) => line.startsWith("svc_rows_total")), [
      'svc_rows_total{tenant="t0"} 11',
      'svc_rows_total{tenant="t1"} 11',
      `svc_rows_total{tenant="${OTHER}"} ${998 * 11}`,
    ]);
  },
});
