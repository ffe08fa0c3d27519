import assert from "node:assert/strict";
import { createMetrics } from "../metrics/metrics.ts";
import { LANE_SERIES_MAX } from "../metrics/bounded_cells.ts";
import { countMaintenance, MAINTENANCE_METRICS } from "./maintenance_metrics.ts";

const identOf = (at: number) => ({ namespace: "svc", name: `t${at}` });

Deno.test({
  name: "countMaintenance tells of a damaged file in any of many tables, and of no dropped table",
  async fn() {
    const metrics = createMetrics(MAINTENANCE_METRICS, { version: "1", role: "compactor" });
    const observer = countMaintenance(metrics);
    const idents = Array.from({ length: 2 * LANE_SERIES_MAX }, (_, at) => identOf(at));
    for (const [at, ident] of idents.entries()) {
      observer.scrubbed(ident, { damaged: at === 150 ? 1 : 0, ageSecs: at });
    }
    const shown = async () =>
      (await metrics.render(null)).text.split("\n").filter((line) =>
        /^svc_table_(damaged_files|scrub_age_seconds)\{/.test(line)
      );
    const first = await shown();
    assert.equal(first.length, 2 * (LANE_SERIES_MAX + 1));
    assert.ok(first.includes('svc_table_damaged_files{table="(other)"} 1'));
    assert.ok(first.includes('svc_table_scrub_age_seconds{table="(other)"} 199'));
    observer.listed([identOf(150)]);
    assert.deepEqual(await shown(), [
      'svc_table_damaged_files{table="svc.t150"} 1',
      'svc_table_scrub_age_seconds{table="svc.t150"} 150',
    ]);
  },
});
