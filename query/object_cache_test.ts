/**
 * The query server over an object store: what a client hears when it fails or is too much, and what
 * is counted.
 */

import assert from "node:assert/strict";
import { OperatingError } from "../shared/base/errors.ts";
import { parseOptions } from "../shared/config/parse_options.ts";
import type { EngineOptions } from "../shared/engine/open_engine.ts";
import { EngineLab } from "../shared/testing/engine_lab.ts";
import { RemoteStore } from "../shared/testing/remote_store.ts";
import { createQueryMetrics } from "./metrics/metrics.ts";
import { OPTIONS, startQuery } from "./mod.ts";
import { objectCacheMeter } from "./metrics/object_cache_metrics.ts";

const START_NS = 1_790_000_000_000_000_000n;
const ROWS = 4_000;

interface Remote extends AsyncDisposable {
  readonly lab: EngineLab;
  readonly store: RemoteStore;
  query(sql: string): Promise<{ response: Response; answer: Record<string, unknown> }>;
}

/** A server over rows whose `raw` and `attributes` take about 113 KB each and hardly compress. */
async function openRemote(engine: Partial<EngineOptions> = {}): Promise<Remote> {
  const store = new RemoteStore();
  const lab = await EngineLab.open({ store, engine });
  // Digits that follow from each other as little as they can.
  const text = (i: number, seed: number) =>
    `{"n":"${[1, 2, 3].map((at) => Math.sin(i * 7 + at + seed) * 1e9 % 1).join("")}"}`;
  await lab.commit(Array.from({ length: ROWS }, (_, i) => ({
    ns: START_NS + BigInt(i),
    raw: text(i, 1),
    attributes: text(i, 2),
  })));
  const settings = parseOptions(OPTIONS, [
    ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--data-dir", lab.dir],
  ]);
  const server = await startQuery(settings, { engine: lab.engine, observer: { completed() {} } });
  return {
    lab,
    store,
    query: async (query) => {
      const response = await fetch(`http://127.0.0.1:${server.address.port}/api/v1/sql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query }),
      });
      return { response, answer: await response.json() };
    },
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      await lab[Symbol.asyncDispose]();
    },
  };
}

function refusal({ response, answer }: Awaited<ReturnType<Remote["query"]>>): unknown[] {
  return [response.status, answer["code"], answer["reason"], response.headers.get("retry-after")];
}

Deno.test({
  name: "an outage of the object store is 503 with Retry-After, and what is cached is answered",
  fn: async () => {
    await using remote = await openRemote();
    const known = "SELECT count(DISTINCT raw) FROM events";
    const { answer: before } = await remote.query(known);
    remote.store.onRead = () => {
      throw new OperatingError("unavailable", "Cannot reach the bucket");
    };
    const unknown = await remote.query("SELECT max(attributes) FROM events");
    assert.deepEqual(refusal(unknown), [503, 503, "storage_unavailable", "5"]);
    const { answer: after } = await remote.query(known);
    assert.deepEqual(after["rows"], before["rows"]);
    assert.deepEqual(after["rows"], [[ROWS]]);
  },
});

Deno.test({
  name: "a data file that is shorter than its table says is 500 object_cut_short",
  fn: async () => {
    await using remote = await openRemote();
    remote.store.answer = (bytes, { range }) =>
      range === undefined ? bytes : bytes.slice(0, bytes.byteLength - 1);
    const refused = await remote.query("SELECT max(raw) FROM events");
    assert.deepEqual(refusal(refused), [500, 500, "object_cut_short", null]);
    assert.match(String(refused.answer["error"]), /Restore the file from a copy/);
  },
});

Deno.test({
  name: "more than running statements may hold is 413 for one alone, 503 while others hold it",
  fn: async () => {
    await using remote = await openRemote({ objectCacheBytesMax: 0, spillBytesMax: 170_000 });
    const both = await remote.query("SELECT max(raw), max(attributes) FROM events");
    assert.deepEqual(refusal(both), [413, 413, "object_cache_too_small", null]);
    assert.match(String(both.answer["error"]), /--query-object-cache-max-bytes/);
    const one = "SELECT max(attributes) FROM events";
    {
      await using other = await remote.lab.prepare("SELECT max(raw) FROM events");
      await using _running = await other.run();
      assert.deepEqual(refusal(await remote.query(one)), [503, 503, "object_cache_in_use", "5"]);
    }
    assert.equal((await remote.query(one)).response.status, 200);
  },
});

Deno.test({
  name: "objectCacheMeter counts every request and byte of the store, failed statements too",
  fn: async () => {
    const metrics = createQueryMetrics({ version: "0", role: "query" });
    await using remote = await openRemote({ objectCacheMeter: objectCacheMeter(metrics) });
    const { lab, store } = remote;
    store.reads.length = 0;
    let bytes = 0;
    store.answer = (answer) => {
      bytes += answer.byteLength;
      return answer;
    };
    const count = "SELECT count(raw) FROM events";
    await lab.query(count);
    await lab.query(count);
    store.onRead = () => {
      throw new OperatingError("unavailable", "Cannot reach the bucket");
    };
    await assert.rejects(lab.query("SELECT max(attributes) FROM events"));
    const { text } = await metrics.render(null);
    const value = (series: string) =>
      Number(text.split("\n").find((line) => line.startsWith(`${series} `))?.split(" ")[1]);
    assert.equal(value("svc_query_object_store_reads_total"), store.reads.length);
    const fetched = ["footer", "index", "data", "other"].map((kind) =>
      value(`svc_query_object_store_fetched_bytes_total{class="${kind}"}`)
    );
    assert.equal(fetched.reduce((sum, one) => sum + one), bytes);
    assert.ok(value("svc_query_object_cache_bytes") > 0);
    assert.equal(value('svc_query_object_cache_files_total{outcome="hit"}'), 1);
    assert.equal(value('svc_query_object_cache_files_total{outcome="miss"}'), 1);
  },
});
