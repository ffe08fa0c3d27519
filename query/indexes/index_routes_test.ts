/** The index and template routes over a real catalog: statuses, tags, and who wins. */

import assert from "node:assert/strict";
import { openCatalog } from "../../shared/catalog/open_catalog.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { startTestServer, type TestServer } from "../../tests/doubles/query_server.ts";

const MAPPING = {
  field_mappings: [
    { name: "timestamp", type: "datetime", required: true },
    { name: "status", type: "long" },
  ],
};
const APP = { index_id: "app", doc_mapping: MAPPING };
const WIDER = {
  doc_mapping: {
    field_mappings: [...MAPPING.field_mappings, { name: "took", type: "double" }],
  },
};
const TEMPLATE = { index_id_patterns: ["a*"], doc_mapping: MAPPING };

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

interface Lab extends AsyncDisposable {
  readonly folder: string;
  ask(asked: Asked): Promise<{ status: number; headers: Headers; body: unknown }>;
}

Deno.test({
  name: "index routes create, show, list, replace and delete",
  async fn() {
    await using lab = await openLab();
    const made = await lab.ask({ method: "POST", path: "indexes", body: APP });
    assert.equal(made.status, 201);
    assert.equal(made.headers.get("location"), "/api/v1/indexes/app");
    const whole = {
      index_id: "app",
      doc_mapping: {
        mode: "dynamic",
        timestamp_field: "timestamp",
        field_mappings: [
          { name: "timestamp", type: "datetime", required: true },
          { name: "status", type: "long", required: false },
        ],
        tag_fields: [],
        default_search_fields: [],
      },
      index_at_flush: true,
    };
    assert.deepEqual(made.body, whole);
    const got = await lab.ask({ method: "GET", path: "indexes/app" });
    assert.deepEqual([got.status, got.body], [200, whole]);
    assert.match(got.headers.get("etag") ?? "", /^"[0-9a-f-]{36}"$/);
    assert.equal(got.headers.get("etag"), made.headers.get("etag"));

    const again = await lab.ask({ method: "POST", path: "indexes", body: APP });
    assert.equal(again.status, 409);
    assert.match(JSON.stringify(again.body), /PUT \/api\/v1\/indexes\/app/);

    const put = await lab.ask({ method: "PUT", path: "indexes/app", body: WIDER });
    assert.equal(put.status, 200);
    assert.notEqual(put.headers.get("etag"), got.headers.get("etag"));
    assert.deepEqual((await lab.ask({ method: "GET", path: "indexes" })).body, [put.body]);

    const gone = await lab.ask({ method: "DELETE", path: "indexes/app" });
    assert.deepEqual([gone.status, gone.body], [204, undefined]);
    for (const method of ["GET", "DELETE"]) {
      assert.equal((await lab.ask({ method, path: "indexes/app" })).status, 404);
    }
    assert.equal(
      (await lab.ask({ method: "PUT", path: "indexes/app", body: WIDER })).status,
      404,
    );
  },
});

Deno.test({
  name: "PUT of two clients that saw the same: one wins, the other hears 412 or 400",
  async fn() {
    await using lab = await openLab();
    const { headers } = await lab.ask({ method: "POST", path: "indexes", body: APP });
    const seen = { "if-match": headers.get("etag") ?? "" };
    const renamed = {
      doc_mapping: {
        field_mappings: [...MAPPING.field_mappings, { name: "spent", type: "double" }],
      },
    };
    const both = await Promise.all(
      [WIDER, renamed].map((body) =>
        lab.ask({ method: "PUT", path: "indexes/app", body, headers: seen })
      ),
    );
    assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 412]);
    const loser = both[0]?.status === 412 ? WIDER : renamed;
    const unconditional = await lab.ask({ method: "PUT", path: "indexes/app", body: loser });
    assert.equal(unconditional.status, 400, "it lacks the field that the winner added");
    assert.match(JSON.stringify(unconditional.body), /not_additive/);
    const winner = loser === WIDER ? renamed : WIDER;
    const tag = both.find(({ status }) => status === 200)?.headers.get("etag");
    for (const condition of [`"x", ${tag}`, "*"]) {
      const headers = { "if-match": condition };
      const again = await lab.ask({ method: "PUT", path: "indexes/app", body: winner, headers });
      assert.equal(again.status, 200, condition);
    }
  },
});

Deno.test({
  name: "a table that rows made is listed, can be configured, and keeps its columns' types",
  async fn() {
    await using lab = await openLab();
    await using catalog = await openCatalog(`${lab.folder}/warehouse/catalog.db`, {
      files: new DenoFileSystem(),
    });
    const status = { id: 9, name: "status", type: "string" as const, required: false };
    for (const name of ["made", "events"]) {
      await catalog.commit({
        ident: { namespace: "svc", name },
        expected: undefined,
        next: `file:///w/${name}/metadata/m`,
        tableUuid: "u",
        snapshotId: 0n,
        consumed: [],
        schema: { columns: [...EVENTS_SCHEMA.columns, status], tags: [] },
      });
    }
    const listed = (await lab.ask({ method: "GET", path: "indexes" })).body;
    assert.deepEqual((listed as { index_id: string }[]).map((one) => one.index_id), ["made"]);
    const got = await lab.ask({ method: "GET", path: "indexes/made" });
    assert.equal(got.headers.get("etag"), '"unconfigured"');
    const clash = await lab.ask({
      method: "PUT",
      path: "indexes/made",
      body: { doc_mapping: MAPPING },
    });
    assert.equal(clash.status, 400);
    assert.match(JSON.stringify(clash.body), /the table has .*status.* as string/);
    const text = { name: "status", type: "text" };
    const fit = await lab.ask({
      method: "PUT",
      path: "indexes/made",
      body: { doc_mapping: { field_mappings: [MAPPING.field_mappings[0], text] } },
      headers: { "if-match": '"unconfigured"' },
    });
    assert.equal(fit.status, 200);
    assert.equal((await lab.ask({ method: "DELETE", path: "indexes/made" })).status, 204);
    assert.deepEqual(await catalog.tables("svc"), ["events"]);
  },
});

Deno.test({
  name:
    "DELETE answers when ingest servers have heard of it: rows sent after it are of the next index",
  async fn() {
    await using lab = await openLab();
    await lab.ask({ method: "POST", path: "indexes", body: APP });
    const startMs = performance.now();
    assert.equal((await lab.ask({ method: "DELETE", path: "indexes/app" })).status, 204);
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs > 700 && tookMs < 10_000, `${tookMs} ms`);
  },
});

Deno.test({
  name: "POST of an id that was just dropped waits until ingest servers have heard of both",
  async fn() {
    await using lab = await openLab();
    await lab.ask({ method: "POST", path: "indexes", body: APP });
    const startMs = performance.now();
    await lab.ask({ method: "DELETE", path: "indexes/app" });
    assert.equal((await lab.ask({ method: "POST", path: "indexes", body: APP })).status, 201);
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs > 1_400 && tookMs < 10_000, `${tookMs} ms`);
  },
});

const REFUSED: [asked: Asked, status: number, message: RegExp][] = [
  [{ method: "POST", path: "indexes", body: "{" }, 400, /Cannot read the request body as JSON/],
  [{ method: "POST", path: "indexes", body: [] }, 400, /the index configuration/],
  [{ method: "POST", path: "indexes", body: { ...APP, index_id: "events" } }, 400, /of that name/],
  [{ method: "PUT", path: "indexes/b", body: APP }, 400, /index_id \\"app\\": the path says/],
  [{ method: "GET", path: "indexes/Bad%2Fid" }, 404, /unknown_index/],
  [{ method: "GET", path: "indexes/events" }, 404, /unknown_index/],
  [{ method: "DELETE", path: "indexes/traces" }, 400, /the service has a table of that name/],
  [{ method: "PATCH", path: "indexes/app" }, 405, /use GET or PUT or DELETE/],
  [{ method: "PUT", path: "index-templates/t", body: { ...TEMPLATE, x: 1 } }, 400, /template/],
  [{ method: "DELETE", path: "index-templates/t" }, 404, /unknown_template/],
];

Deno.test({
  name: "index routes refuse",
  async fn(t) {
    await using lab = await openLab();
    for (const [asked, status, message] of REFUSED) {
      await t.step(`${asked.method} ${asked.path}`, async () => {
        const answer = await lab.ask(asked);
        assert.equal(answer.status, status);
        assert.match(JSON.stringify(answer.body), message);
      });
    }
    assert.deepEqual((await lab.ask({ method: "GET", path: "indexes" })).body, []);
  },
});

Deno.test({
  name: "template routes put, list and delete",
  async fn() {
    await using lab = await openLab();
    for (const priority of [1, 2]) {
      const body = { ...TEMPLATE, priority };
      const put = await lab.ask({ method: "PUT", path: "index-templates/t", body });
      assert.equal(put.status, 200);
    }
    const { body } = await lab.ask({ method: "GET", path: "index-templates" });
    assert.deepEqual(
      (body as { template_id: string; priority: number }[]).map((one) => [
        one.template_id,
        one.priority,
      ]),
      [["t", 2]],
    );
    assert.equal((await lab.ask({ method: "DELETE", path: "index-templates/t" })).status, 204);
    assert.deepEqual((await lab.ask({ method: "GET", path: "index-templates" })).body, []);
  },
});

async function openLab(): Promise<Lab> {
  const folder = await Deno.makeTempDir({ prefix: "svc-index-routes-" });
  const server: TestServer = await startTestServer({}, ["--data-dir", folder]);
  return {
    folder,
    async ask({ method, path, body, headers = {} }) {
      const response = await fetch(`${server.url}/api/v1/${path}`, {
        method,
        headers: { "content-type": "application/json", ...headers },
        ...(body === undefined
          ? {}
          : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === "" ? undefined : JSON.parse(text),
      };
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
