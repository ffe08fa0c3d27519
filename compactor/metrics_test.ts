/** `deno test -A compactor/metrics_test.ts -- --write` writes METRICS.md anew. */

import assert from "node:assert/strict";
import { metricsPage } from "../shared/metrics/metrics_page.ts";
import { COMPACTOR_METRICS } from "./metrics.ts";

Deno.test({
  name: "METRICS.md of compactor is the table",
  async fn() {
    const path = new URL("./METRICS.md", import.meta.url);
    const page = metricsPage("the compactor", COMPACTOR_METRICS);
    if (Deno.args.includes("--write")) await Deno.writeTextFile(path, page);
    const remedy = "deno test -A compactor/metrics_test.ts -- --write";
    const found = await Deno.readTextFile(path).catch(() => "");
    assert.ok(found === page, `METRICS.md is old: ${remedy}`);
  },
});
