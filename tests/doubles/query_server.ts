/**
 * A query server on free ports over an engine of the test's own, and a client for it. For tests.
 */

import { parseOptions } from "../../shared/config/parse_options.ts";
import type { Engine } from "../../shared/engine/types.ts";
import { ByteBudget } from "../../shared/base/byte_budget.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { Admission } from "../../query/admission/admission.ts";
import { DeleteTasks } from "../../query/delete_tasks/delete_tasks.ts";
import { FakeEngine, type FakeEngineOptions } from "./fake_engine.ts";
import { RestCatalog } from "../../query/iceberg_rest/rest_catalog.ts";
import { ManagedIndexes } from "../../query/indexes/managed_indexes.ts";
import type { JobDesk } from "../../query/jobs/batch_jobs.ts";
import { createQueryMetrics } from "../../query/metrics/metrics.ts";
import { OPTIONS, startQuery } from "../../query/mod.ts";
import type { QueryService } from "../../query/routes.ts";
import { TailDesk } from "../../query/tail/tail_desk.ts";
import { MemoryStore } from "../../shared/testing/memory_store.ts";
import { TableFacts } from "../../query/tables/table_facts.ts";
import { NameCache } from "../../query/tracing/name_lists.ts";

export interface TestServer extends AsyncDisposable {
  readonly engine: FakeEngine;
  readonly url: string;
  readonly metricsUrl: string;
  /** Posts `body` as JSON, or as it is when it is a text. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  /** Value of one series as `/metrics` shows it; undefined when it shows none. */
  metric(series: string): Promise<number | undefined>;
}

export async function startTestServer(
  options: FakeEngineOptions = {},
  flags: readonly string[] = [],
): Promise<TestServer> {
  const engine = new FakeEngine(options);
  const settings = parseOptions(OPTIONS, [
    "--bind",
    "127.0.0.1:0",
    "--metrics-bind",
    "127.0.0.1:0",
    ...flags,
  ]);
  const server = await startQuery(settings, { engine, observer: { completed() {} } });
  const url = `http://127.0.0.1:${server.address.port}`;
  const metricsUrl = `http://127.0.0.1:${server.metricsAddress.port}/metrics`;
  return {
    engine,
    url,
    metricsUrl,
    post: (path, body, { headers, ...init } = {}) =>
      fetch(`${url}${path}`, {
        method: "POST",
        headers: [["content-type", "application/json"], ...new Headers(headers)],
        body: typeof body === "string" ? body : JSON.stringify(body),
        ...init,
      }),
    async metric(series) {
      const text = await (await fetch(metricsUrl)).text();
      const line = text.split("\n").find((candidate) => candidate.startsWith(`${series} `));
      return line === undefined ? undefined : Number(line.slice(series.length + 1));
    },
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/** What routes stand on, for a test without listeners; memory is never short. */
export function testService(engine: Engine, fields: Partial<QueryService> = {}): QueryService {
  const clock = new SystemClock();
  const metrics = createQueryMetrics({ version: "0", role: "query" });
  return {
    engine,
    metrics,
    clock,
    admission: new Admission({
      budgetBytes: 2 ** 30,
      shareDivisor: 4,
      waitMs: 2000,
      dearWaitMs: 2000,
      clock,
      metrics,
    }),
    callers: { admit: () => Promise.resolve({ namespace: "svc", tenant: "default" }) },
    observer: { completed: () => {} },
    rowsCeiling: 10,
    stallMsMax: 30_000,
    answers: new ByteBudget(2 ** 20),
    traceNames: new NameCache(32 * 2 ** 20),
    jobs: NO_JOBS,
    tails: new TailDesk(),
    page: undefined,
    basePath: "",
    status: { report: () => ({ every_secs: 10, times: [], roles: [], series: [], stalls: [] }) },
    readiness: { problem: undefined },
    indexes: new ManagedIndexes({
      catalog: {
        indexView: noCatalog,
        tables: noCatalog,
        tableSchemas: noCatalog,
        metadataLocation: noCatalog,
      },
      writer: noCatalog,
      clock,
      random: new SystemRandom(),
    }),
    tables: new TableFacts({
      catalog: { indexView: noCatalog, tables: noCatalog, metadataLocation: noCatalog },
      store: new MemoryStore(),
    }),
    deleteTasks: new DeleteTasks({
      engine,
      catalog: { indexState: noCatalog },
      ledger: noCatalog,
      random: new SystemRandom(),
    }),
    icebergCatalog: new RestCatalog({
      catalog: { tables: noCatalog, metadataLocation: noCatalog },
      store: { rootUri: "file:///nowhere", get: noCatalog, head: noCatalog },
      properties: {},
    }),
    icebergCommits: undefined,
    ...fields,
  };
}

const NO_JOBS: JobDesk = {
  submit: noJobs,
  job: noJobs,
  list: noJobs,
  ended: noJobs,
  result: noJobs,
  resultPart: noJobs,
  cancel: noJobs,
};

function noJobs(): Promise<never> {
  return Promise.reject(new Error("this service has no jobs"));
}

function noCatalog(): Promise<never> {
  return Promise.reject(new Error("this service has no catalog"));
}
