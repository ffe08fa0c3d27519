/** `deno test -A compactor/metrics_test.ts -- --write` writes METRICS.md anew. */

import { checkMetricsPage } from "../shared/testing/check_metrics_page.ts";
import { METRICS } from "./metrics.ts";

Deno.test({
  name: "METRICS.md of compactor is the table",
  fn: () => checkMetricsPage("compactor", "the compactor", METRICS),
});
