import assert from "node:assert/strict";
import { BoundedGauge } from "./bounded_gauge.ts";
import { createMetrics } from "./metrics.ts";
import type { MetricTable } from "./table.ts";

const TABLE = {
  rows: { kind: "gauge", name: "svc_rows", help: "rows", labels: { table: [] } },
  age: { kind: "gauge", name: "svc_age", help: "age", labels: { table: [] }, together: "max" },
} as const satisfies MetricTable;

Deno.test({
  name: "BoundedGauge names the first ones, tells the others as one, and forgets what is gone",
  async fn() {
    const metrics = createMetrics(TABLE, { version: "1", role: "compactor" });
    const gauges = (["rows", "age"] as const).map((key) =>
      new BoundedGauge(metrics[key], { label: "table", seriesMax: 2, spec: TABLE[key] })
    );
    const shown = async () =>
      (await metrics.render(null)).text.split("\n").filter((line) =>
        /^svc_(rows|age)\{/.test(line)
      );
    assert.deepEqual(await shown(), []);
    for (const gauge of gauges) for (const value of [1, 2, 3, 4]) gauge.set(`t${value}`, value);
    assert.deepEqual(await shown(), [
      'svc_rows{table="t1"} 1',
      'svc_rows{table="t2"} 2',
      'svc_rows{table="(other)"} 7',
      'svc_age{table="t1"} 1',
      'svc_age{table="t2"} 2',
      'svc_age{table="(other)"} 4',
    ]);
    for (const gauge of gauges) gauge.keep(new Set(["t2", "t4"]));
    assert.deepEqual(await shown(), [
      'svc_rows{table="t2"} 2',
      'svc_rows{table="t4"} 4',
      'svc_age{table="t2"} 2',
      'svc_age{table="t4"} 4',
    ]);
  },
});
