/**
 * The dashboard of `deploy/grafana`: each panel's statement runs, with its macros expanded as
 * Grafana does (pkg/tsdb/grafana-postgresql-datasource/macros.go), and gives the columns that the
 * kind of panel needs.
 */

import assert from "node:assert/strict";
import { present } from "../../shared/base/assert.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { TRACES_SCHEMA } from "../../shared/schema/traces.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { ROOT } from "../workspace/sources.ts";

const START_MS = Date.parse("2026-11-20T00:00:00Z");
const NS = BigInt(START_MS) * 1_000_000n;
const FOLDER = "deploy/grafana";

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly datasource: { readonly uid: string };
  readonly targets: readonly { readonly rawSql: string; readonly format: string }[];
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string }[];
  };
}

/** What Grafana knows when it asks. */
interface Range {
  readonly fromMs: number;
  readonly toMs: number;
  /** Seconds of `$__interval`. */
  readonly intervalSecs: number;
  readonly variables: Readonly<Record<string, readonly string[]>>;
}

/** Expands variables, then macros. */
function expanded(sql: string, { fromMs, toMs, intervalSecs, variables }: Range): string {
  const instant = (ms: number) => `'${new Date(ms).toISOString().replace(/\.000Z$/, "Z")}'`;
  const withVariables = sql.replaceAll("$__interval", `${intervalSecs}s`)
    .replaceAll(
      /\$\{(\w+):sqlstring\}/g,
      (_, name: string) =>
        present(variables[name]).map((value) => `'${value.replaceAll("'", "''")}'`).join(","),
    );
  return withVariables.replaceAll(/\$([_a-zA-Z0-9]+)\(([^)]*)\)/g, (_, name: string, list) => {
    const [column = "", interval = ""] = String(list).split(",").map((arg) => arg.trim());
    const secs = Number(/^'?(\d+)s'?$/.exec(interval)?.[1] ?? 0);
    const group = `floor(extract(epoch from ${column})/${secs})*${secs}`;
    switch (name) {
      case "__timeFilter":
        return `${column} BETWEEN ${instant(fromMs)} AND ${instant(toMs)}`;
      case "__timeGroup":
        return group;
      case "__timeGroupAlias":
        return `${group} AS "time"`;
      default:
        throw new Error(`unknown macro ${name}`);
    }
  });
}

async function openLab(): Promise<EngineLab> {
  const lab = await EngineLab.open();
  const at = (index: number) => {
    const ns = NS + BigInt(index) * 10_000_000_000n;
    return { timestamp: ns / 1_000n, timestamp_ns: ns };
  };
  await lab.commitRows(
    Array.from({ length: 30 }, (_, index) => ({
      ...at(index),
      ...{ host: "h", source: index % 3 === 0 ? "it's" : "api", sourcetype: "t", index: "main" },
      raw: `took ${index} ms`,
      attributes: JSON.stringify({ severity_text: index % 10 === 0 ? "ERROR" : "INFO" }),
    })),
    { ident: { namespace: "svc", name: "events" }, schema: EVENTS_SCHEMA, derived: true },
  );
  await lab.commitRows(
    Array.from({ length: 12 }, (_, index) => ({
      ...Object.fromEntries(TRACES_SCHEMA.columns.map(({ name }) => [name, null])),
      ...at(index),
      ...{ trace_id: `t${index}`, span_id: `s${index}`, service: "api", name: "GET" },
      ...{ kind: "SPAN_KIND_SERVER", status_code: "STATUS_CODE_OK" },
      duration_nanos: BigInt(index) * 1_000_000n,
      parent_span_id: index % 2 === 0 ? null : "s0",
    })),
    { ident: { namespace: "svc", name: "traces" }, schema: TRACES_SCHEMA },
  );
  return lab;
}

const ROWS: Readonly<Record<string, number>> = {
  "Rows by severity": 8,
  "Top sources": 2,
  "Errors": 3,
  "Latest errors": 3,
  "Logs": 30,
  "Spans by service": 2,
  "Duration of requests, 95 of 100": 2,
  "Traces": 6,
};

Deno.test({
  name: "each panel of the dashboard runs as Grafana asks it, and gives what its kind needs",
  async fn() {
    await using lab = await openLab();
    const { panels, templating } = JSON.parse(
      await readText(`${FOLDER}/dashboards/logs_and_traces.json`),
    ) as Dashboard;
    const range = { fromMs: START_MS, toMs: START_MS + 3_600_000, intervalSecs: 60 };
    const [variable, ...more] = templating.list;
    assert.deepEqual(more, []);
    const asked = await lab.query(expanded(present(variable).query, { ...range, variables: {} }));
    const variables = { [present(variable).name]: asked.rows.map(([value]) => String(value)) };
    assert.deepEqual(variables, { source: ["api", "it's"] });
    assert.deepEqual(panels.map(({ title }) => title), Object.keys(ROWS));
    for (const { title, type, targets: [target] } of panels) {
      const sql = expanded(present(target).rawSql, { ...range, variables });
      const answer = await lab.query(sql);
      assert.equal(answer.rows.length, ROWS[title], `${title}: ${JSON.stringify(answer.rows)}`);
      checkKind(type, answer);
      if (title === "Top sources") assert.notEqual(answer.stats.served_by, "scan");
      const early: Range = { fromMs: 0, toMs: 1_000, intervalSecs: 60, variables };
      assert.deepEqual((await lab.query(expanded(present(target).rawSql, early))).rows, []);
    }
  },
});

/** Grafana wants a time in a series, as a number of seconds or an instant, and in order. */
function checkKind(
  type: string,
  { columns, types, rows }: {
    readonly columns: readonly string[];
    readonly types: readonly string[];
    readonly rows: readonly (readonly unknown[])[];
  },
): void {
  if (type === "timeseries") {
    assert.deepEqual(columns.slice(0, 2), ["time", "metric"]);
    assert.deepEqual(types.slice(0, 2), ["DOUBLE", "VARCHAR"]);
    const times = rows.map(([time]) => Number(time));
    assert.deepEqual(times, times.toSorted((a, b) => a - b));
    assert(times.every((time) => time % 60 === 0 && time * 1_000 >= START_MS));
  }
  if (type === "logs") {
    assert.deepEqual(columns.slice(0, 3), ["time", "line", "level"]);
    assert.equal(types[0], "TIMESTAMP WITH TIME ZONE");
  }
}

Deno.test({
  name: "data sources of the dashboard are those that are provisioned",
  async fn() {
    const sources = await readText(`${FOLDER}/provisioning/datasources/svc.yaml`);
    const provisioned = [...sources.matchAll(/^ {4}uid: (\S+)$/gm)].map(([, uid]) => uid);
    assert.deepEqual(provisioned, ["svc-sql", "svc-traces"]);
    const dashboard = await readText(`${FOLDER}/dashboards/logs_and_traces.json`);
    const named = new Set(
      [...dashboard.matchAll(/"uid": "(svc-(?!logs)[\w-]+)"/g)].map(([, uid]) => uid),
    );
    assert.deepEqual([...named], ["svc-sql"]);
    assert.match(dashboard, /\\"datasource\\":\\"svc-traces\\"/);
    const readme = await readText(`${FOLDER}/README.md`);
    for (const [, name = ""] of (sources + dashboard).matchAll(/\$(SVC_\w+)/g)) {
      assert(readme.includes(name), name);
    }
  },
});

function readText(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, ROOT));
}
