import { deepStrictEqual, rejects, strictEqual, throws } from "node:assert/strict";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import { until } from "../../shared/testing/until.ts";
import { valuesOf } from "./exposition_values.ts";
import { openStatus } from "./open_status.ts";
import { stallsOf } from "./stalls.ts";
import { STATUS_OPTIONS } from "./status_flags.ts";
import { SAMPLE_SECS, StatusHistory, type StatusReport } from "./status_history.ts";
import { getStatus } from "./status_route.ts";

const TEXT = `# HELP svc_x_total things
# TYPE svc_x_total counter
svc_x_total{lane="a",state="sealed"} 3
svc_x_total{lane="b",state="active"} 4.5
svc_x_total_more 100
svc_age 7
svc_nan NaN
`;

Deno.test({
  name: "valuesOf sums a metric's series, by a label too, and knows what is not there",
  fn() {
    const values = valuesOf(TEXT, [
      { metric: "svc_x_total", of: "sum" },
      { metric: "svc_x_total", of: "max" },
      { metric: "svc_x_total", of: "sum", label: ["state", "sealed"] },
      { metric: "svc_age", of: "max" },
      { metric: "svc_absent", of: "sum" },
      { metric: "svc_nan", of: "sum" },
    ]);
    deepStrictEqual(values, [7.5, 4.5, 3, 7, NaN, NaN]);
  },
});

Deno.test({
  name: "stallsOf finds lanes, sweeps and threads that do not get on, the oldest first",
  fn() {
    const text = [
      'svc_lost_thread_seconds{what="makes data files"} 5',
      'svc_drain_stalled_seconds{lane="default/events",step="stage",why="hangs"} 130.5',
      'svc_drain_stalled_seconds{lane="(tenants)",step="look",why="odd \\"one\\""} 7',
      'svc_compactor_sweep_stalled_seconds{table="svc.events",sweep="merge",why="hangs"} 10',
      "svc_drain_lag_seconds 4",
    ].join("\n");
    const role = "compactor";
    deepStrictEqual(stallsOf(role, text, 1_000_000), [
      {
        ...{ role, kind: "lane", name: "default/events", step: "stage" },
        ...{ why: "hangs", since_ms: 869_500 },
      },
      { role, kind: "sweep", name: "svc.events", step: "merge", why: "hangs", since_ms: 990_000 },
      {
        ...{ role, kind: "lane", name: "(tenants)", step: "look" },
        ...{ why: 'odd "one"', since_ms: 993_000 },
      },
      { role, kind: "thread", name: "makes data files", why: "left_behind", since_ms: 995_000 },
    ]);
  },
});

const seriesOf = ({ series }: StatusReport, name: string) =>
  series.find((one) => one.name === name)?.values;

Deno.test({
  name: "StatusHistory keeps an hour, tells growth a second, and who is away",
  async fn() {
    const clock = new FakeClock();
    let rows: number | undefined = 1_000;
    await using history = new StatusHistory({
      clock,
      scrapes: {
        query: () => Promise.resolve("svc_memory_resident_bytes 5\n"),
        ingest: () =>
          rows === undefined
            ? Promise.reject(new Error("away"))
            : Promise.resolve(`svc_ingest_wal_rows_total{mode="auto"} ${rows}\n`),
      },
    });
    const step = async (next: number | undefined) => {
      await until(() => clock.sleepers > 0);
      rows = next;
      await clock.advance(1_000 * SAMPLE_SECS);
      await until(() => clock.sleepers > 0);
    };
    await step(1_500);
    await step(undefined);
    await step(400);
    // The counter began anew.
    await step(100);
    deepStrictEqual(seriesOf(history.report(), "ingest_rows"), [null, 50, null, null, 10]);
    deepStrictEqual(seriesOf(history.report(), "query_memory"), [5, 5, 5, 5, 5]);
    deepStrictEqual(history.report().roles, [
      { role: "ingest", state: "up" },
      { role: "compactor", state: "not_configured" },
      { role: "query", state: "up" },
    ]);
    await step(undefined);
    strictEqual(history.report().roles[0]?.state, "away");
    for (let more = 0; more < 360; more += 1) await step(more);
    strictEqual(history.report().times.length, 360);
  },
});

Deno.test({
  name: "StatusHistory tells since when a role answers and is not ready, until it is",
  async fn() {
    const clock = new FakeClock();
    let ready = 1;
    await using history = new StatusHistory({
      clock,
      scrapes: { compactor: () => Promise.resolve(`svc_compactor_ready ${ready}\n`) },
    });
    const step = async (next: number) => {
      await until(() => clock.sleepers > 0);
      ready = next;
      await clock.advance(1_000 * SAMPLE_SECS);
      await until(() => clock.sleepers > 0);
      return history.report().stalls;
    };
    deepStrictEqual(await step(1), []);
    const first = await step(0);
    const since_ms = clock.nowMs();
    deepStrictEqual(first, [
      { role: "compactor", kind: "role", name: "compactor", why: "not_ready", since_ms },
    ]);
    deepStrictEqual(await step(0), first);
    deepStrictEqual(await step(1), []);
  },
});

Deno.test({
  name: "the status is read over HTTP where the options say, and told to no tenant among others",
  async fn() {
    let answer = "svc_drain_lag_bytes 12\n" +
      'svc_drain_stalled_seconds{lane="default/events",step="look",why="hangs"} 9\n';
    await using server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response(answer),
    );
    const url = `http://127.0.0.1:${server.addr.port}/metrics`;
    const settings = parseOptions(STATUS_OPTIONS, ["--compactor-metrics-url", url]);
    const metrics = { render: () => Promise.resolve({ text: "" }) };
    await using status = openStatus(settings, { clock: new SystemClock(), metrics });
    await until(() => status.report().times.length === 1);
    answer = "";
    deepStrictEqual(seriesOf(status.report(), "backlog_bytes"), [12]);
    const told = await (await getStatus({ status }, {})).json();
    strictEqual(told.every_secs, SAMPLE_SECS);
    strictEqual(told.stalls.length, 1);
    strictEqual(told.stalls[0].name, "default/events");
    await rejects(async () => await getStatus({ status }, { isOneOfMany: true }), /all tenants/);
    throws(() =>
      openStatus(parseOptions(STATUS_OPTIONS, ["--ingest-metrics-url", "here"]), {
        clock: new SystemClock(),
        metrics,
      }), /give a URL such as/);
  },
});
