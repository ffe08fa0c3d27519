import assert from "node:assert/strict";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { heldRowsMeter } from "./held_rows_metrics.ts";
import { createQueryMetrics } from "./metrics.ts";

const START_NS = 1_790_000_000_000_000_000n;
const HELD_MS_MAX = 20_000;

Deno.test({
  name: "heldRowsMeter shows what is held, within its limit, and counts what was asked for",
  async fn() {
    const metrics = createQueryMetrics({ version: "0", role: "query" });
    await using lab = await EngineLab.open({ engine: { heldRowsMeter: heldRowsMeter(metrics) } });
    const value = async (series: string) => {
      const line = (await metrics.render(null)).text.split("\n").find((one) =>
        one.startsWith(`${series} `)
      );
      return Number(line?.slice(series.length));
    };
    await lab.commit(Array.from({ length: 100 }, (_, i) => ({ ns: START_NS + BigInt(i) })));
    const until = Date.now() + HELD_MS_MAX;
    while (await value('svc_query_held_rows_lookups_total{outcome="hit"}') === 0) {
      assert(Date.now() < until, `no row is held after ${HELD_MS_MAX} ms`);
      await lab.query("SELECT timestamp, host FROM events ORDER BY timestamp DESC LIMIT 10");
    }
    assert.equal(await value("svc_query_held_rows_blocks"), 1);
    const bytes = await value("svc_query_held_rows_bytes");
    assert(bytes > 0 && bytes <= await value("svc_query_held_rows_limit_bytes"), `${bytes}`);
    assert(await value('svc_query_held_rows_lookups_total{outcome="miss"}') >= 2);
    assert.equal(await value("svc_query_held_rows_failures_total"), 0);
  },
});
