/**
 * The alert rules name metrics, labels and values that the roles export, and use each as what it
 * is: a counter behind a rate, a gauge as it stands. The file is read as the plain YAML that it is,
 * without a YAML library.
 */

import assert from "node:assert/strict";
import { SUBSCRIPTION_METRICS } from "../../cli/subscribe/metrics.ts";
import { METRICS as COMPACTOR_METRICS } from "../../compactor/metrics.ts";
import { METRICS as INGEST_METRICS } from "../../ingest/metrics.ts";
import { METRICS as QUERY_METRICS } from "../../query/metrics/metrics.ts";
import type { MetricSpec } from "../../shared/metrics/table.ts";

const FILE = new URL("../../shared/metrics/alert_rules.yml", import.meta.url);

const SPECS: ReadonlyMap<string, MetricSpec> = new Map(
  [INGEST_METRICS, QUERY_METRICS, COMPACTOR_METRICS, SUBSCRIPTION_METRICS]
    .flatMap((table) => Object.values(table) as MetricSpec[])
    .map((spec) => [spec.name, spec]),
);

/** Labels that Prometheus itself gives a target. */
const TARGET_LABELS: ReadonlySet<string> = new Set(["instance", "job"]);
const GROUPS = [
  "svc-ingest",
  "svc-drain",
  "svc-maintenance",
  "svc-deletes",
  "svc-query",
  "svc-subscriptions",
];

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: string;
  readonly summary: string;
  readonly remedy: string;
}

interface Selector {
  readonly metric: string;
  readonly matchers: readonly {
    readonly label: string;
    readonly op: string;
    readonly value: string;
  }[];
  /** The function around it, and its window. */
  readonly around: string | undefined;
  readonly window: string | undefined;
}

const rules = readRules(await Deno.readTextFile(FILE));

Deno.test({
  name: "alert rules are complete, and each name stands once",
  fn() {
    assert.ok(rules.length >= 15);
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
    for (const rule of rules) {
      assert.match(rule.alert, /^Svc[A-Z][A-Za-z]+$/);
      assert.match(rule.for, /^\d+[smh]$/, rule.alert);
      assert.ok(["page", "ticket"].includes(rule.severity), rule.alert);
      assert.ok(rule.summary.length > 10 && rule.remedy.length > 10, rule.alert);
    }
  },
});

for (const rule of rules) {
  Deno.test({
    name: `alert ${rule.alert} asks for what is exported`,
    fn() {
      assertBalanced(rule.expr);
      const selectors = selectorsOf(rule.expr);
      assert.ok(selectors.length > 0, "it asks for a metric of ours");
      for (const selector of selectors) checkSelector(selector);
      const known = new Set(selectors.flatMap(({ metric }) => labelsOf(metric)));
      for (const [, list = ""] of rule.expr.matchAll(/\bby \(([^)]*)\)/g)) {
        for (const label of list.split(/, */)) {
          assert.ok(known.has(label) || TARGET_LABELS.has(label), `by (${label})`);
        }
      }
      const grouped = rule.expr.match(/\bby \(([^)]*)\)/)?.[1]?.split(/, */) ?? [];
      for (const [, label = ""] of rule.summary.matchAll(/\$labels\.(\w+)/g)) {
        assert.ok(grouped.includes(label), `$labels.${label} is gone from the expression's result`);
      }
    },
  });
}

Deno.test({
  name: "alert rules that name what nobody exports would be found",
  fn() {
    const wrong = [
      "svc_nothing > 1",
      'svc_drain_commits_total{outcome="nope"} > 1',
      'rate(svc_drain_commits_total{result="failed"}[5m]) > 1',
      "svc_drain_commits_total > 1",
      "rate(svc_drain_lag_seconds[5m]) > 1",
      "rate(svc_query_duration_seconds[5m]) > 1",
    ];
    for (const expr of wrong) {
      assert.throws(() => selectorsOf(expr).forEach(checkSelector), assert.AssertionError, expr);
    }
  },
});

function checkSelector({ metric, matchers, around, window }: Selector): void {
  const spec = specOf(metric);
  assert.ok(spec !== undefined, `${metric} is in no metric table`);
  const isCounter = spec.kind !== "gauge";
  const isRated = around === "rate" || around === "increase";
  assert.equal(
    isRated,
    isCounter,
    `${metric} is a ${spec.kind}, and ${around ?? "nothing"} around it`,
  );
  assert.equal(window !== undefined, isRated, `${metric} over a window`);
  const labels: Readonly<Record<string, readonly string[]>> = spec.labels ?? {};
  for (const { label, op, value } of matchers) {
    const values = labels[label];
    assert.ok(values !== undefined, `${metric} has no label ${label}`);
    const pattern = new RegExp(`^(?:${value})$`);
    const isThere = values.length === 0 ||
      values.some((one) => op.includes("~") ? pattern.test(one) : one === value);
    assert.ok(isThere, `${metric} has no ${label} ${value}: ${values.join(", ")}`);
  }
}

/** The row of a metric, or of a series of a histogram. */
function specOf(metric: string): MetricSpec | undefined {
  const spec = SPECS.get(metric);
  if (spec !== undefined) return spec.kind === "histogram" ? undefined : spec;
  const histogram = SPECS.get(metric.replace(/_(?:bucket|sum|count)$/, ""));
  return histogram?.kind === "histogram" ? histogram : undefined;
}

function labelsOf(metric: string): string[] {
  return Object.keys(specOf(metric)?.labels ?? {});
}

function selectorsOf(expr: string): Selector[] {
  const found = expr.matchAll(/(?:(\w+)\()?\b(svc_\w+)(?:\{([^}]*)\})?(?:\[(\w+)\])?/g);
  return [...found].map(([, around, metric = "", matchers = "", window]) => ({
    metric,
    around,
    window,
    matchers: [...matchers.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map((
      [, label = "", op = "", value = ""],
    ) => ({ label, op, value })),
  }));
}

function assertBalanced(expr: string): void {
  const open: string[] = [];
  for (const [token] of expr.replaceAll(/"[^"]*"/g, "").matchAll(/[()[\]{}]/g)) {
    if ("([{".includes(token)) open.push(token);
    else assert.equal(open.pop(), { ")": "(", "]": "[", "}": "{" }[token], expr);
  }
  assert.deepEqual(open, [], expr);
}

/** The file's own form: two spaces a level, one key a line, values on one line. */
function readRules(text: string): Rule[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  assert.equal(lines.shift(), "groups:");
  const groups: string[] = [];
  const rules: Record<string, string>[] = [];
  for (const line of lines) {
    const [, indent = "", dash = "", key = "", value = ""] =
      /^( *)(- )?(\w+):(?: (.*))?$/.exec(line) ?? assert.fail(`not understood: ${line}`);
    const depth = indent.length + dash.length;
    if (key === "name" && depth === 4) groups.push(value);
    else if (key === "alert" && depth === 8) rules.push({ alert: value });
    else if (key === "labels") {
      Object.assign(rules.at(-1) ?? {}, { severity: /^\{ severity: (\w+) \}$/.exec(value)?.[1] });
    } else if (depth >= 8 && key !== "annotations") {
      Object.assign(rules.at(-1) ?? {}, { [key]: value.replace(/^"(.*)"$/, "$1") });
    } else assert.ok(key === "rules" || key === "annotations", line);
  }
  assert.deepEqual(groups, GROUPS);
  const keys = ["alert", "expr", "for", "severity", "summary", "remedy"];
  for (const rule of rules) {
    assert.deepEqual(Object.keys(rule).sort(), keys.toSorted(), rule["alert"]);
  }
  return rules as unknown as Rule[];
}
