import assert from "node:assert/strict";
import fc from "fast-check";
import { Histogram, Registry } from "prom-client";
import { HistogramCell, type HistogramSeries, registerHistogram } from "./histogram_cells.ts";

const BUCKETS = [0.001, 0.5, 1, 10];
const NAME = { name: "svc_wait_seconds", help: "how long it waited" };

Deno.test({
  name: "registerHistogram shows what prom-client's own histogram shows of the same values",
  fn: async () => {
    const value = fc.oneof(fc.constantFrom(...BUCKETS, 0, -1, 11), fc.double({ noNaN: true }))
      .filter(Number.isFinite);
    const observed = fc.array(fc.record({ value, endpoint: fc.constantFrom("a", 'b"\\\n') }));
    await fc.assert(fc.asyncProperty(observed, async (observations) => {
      const theirs = new Registry();
      const histogram = new Histogram({
        ...NAME,
        buckets: BUCKETS,
        labelNames: ["endpoint"],
        registers: [theirs],
      });
      const cells = new Map<string, HistogramSeries>();
      for (const { value, endpoint } of observations) {
        histogram.observe({ endpoint }, value);
        const known = cells.get(endpoint);
        const one = known ?? { labels: { endpoint }, cell: new HistogramCell(BUCKETS) };
        cells.set(endpoint, one);
        one.cell.observe(value);
      }
      const ours = new Registry();
      registerHistogram(ours, NAME, () => cells.values());
      assert.equal(await ours.metrics(), await theirs.metrics());
    }));
  },
});

for (const value of [NaN, Infinity, -Infinity]) {
  Deno.test({
    name: `HistogramCell refuses ${value}, which would spoil its sum for good`,
    fn: () => {
      const cell = new HistogramCell(BUCKETS);
      assert.throws(() => cell.observe(value));
      assert.equal(cell.count, 0);
    },
  });
}
