import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { METRICS as COMPACTOR } from "../../compactor/metrics.ts";
import { METRICS as INGEST } from "../../ingest/mod.ts";
import { METRICS as QUERY } from "../../query/mod.ts";
import { isUnready, STALL_METRICS } from "../../query/status/stalls.ts";
import { STATUS_SERIES, type StatusRole } from "../../query/status/status_series.ts";
import type { MetricSpec, MetricTable } from "../../shared/metrics/table.ts";
import { CHARTS } from "../../web/status/status_charts.ts";

const TABLES: Readonly<Record<StatusRole, MetricTable>> = {
  ingest: INGEST,
  compactor: COMPACTOR,
  query: QUERY,
};

/** The name in a scrape's table of what a series reads: a histogram has a sum. */
function specOf(role: StatusRole, metric: string): MetricSpec | undefined {
  return Object.values<MetricSpec>(TABLES[role]).find(({ name, kind }) =>
    name === metric || (kind === "histogram" && `${name}_sum` === metric)
  );
}

Deno.test({
  name: "STATUS_SERIES reads metrics that their roles have, rates of what only grows",
  fn() {
    const wrong = STATUS_SERIES.filter(({ role, metric, kind }) => {
      const spec = specOf(role, metric);
      return spec === undefined || (spec.kind === "gauge") !== (kind === "gauge");
    });
    deepStrictEqual(wrong, []);
  },
});

Deno.test({
  name: "STALL_METRICS reads gauges of seconds that the compactor has, with labels that they have",
  fn() {
    for (const { metric, kind: _, ...labels } of STALL_METRICS) {
      const spec = specOf("compactor", metric);
      strictEqual(spec?.kind, "gauge", metric);
      const unknown = Object.values(labels).filter((label) => !(label in (spec?.labels ?? {})));
      deepStrictEqual(unknown, [], metric);
    }
  },
});

Deno.test({
  name: "isUnready asks for a gauge that the ingest server and the compactor have",
  fn() {
    for (const role of ["ingest", "compactor"] as const) {
      const name = `svc_${role}_ready`;
      strictEqual(specOf(role, name)?.kind, "gauge");
      deepStrictEqual([isUnready(role, `${name} 0\n`), isUnready(role, `${name} 1\n`)], [
        true,
        false,
      ]);
    }
  },
});

Deno.test({
  name: "the page Status shows series that there are",
  fn() {
    const names = new Set(STATUS_SERIES.map(({ name }) => name));
    const unknown = CHARTS.flatMap(({ lines }) => lines).filter(([name]) => !names.has(name));
    deepStrictEqual(unknown, []);
  },
});
