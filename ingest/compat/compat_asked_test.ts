/**
 * What shippers ask before they send, over HTTP: each answer with its shape, at the root and below
 * the prefix.
 */

import assert from "node:assert/strict";
import { RunningIngest } from "../../tests/clients/running_ingest.ts";

const PREFIX = "/api/v1/_compat";
const PLACES = ["", PREFIX];

interface Asked {
  readonly status: number;
  readonly body: unknown;
}

async function ask(
  ingest: RunningIngest,
  [method, path, body]: readonly [method: string, path: string, body?: unknown],
  headers: Readonly<Record<string, string>> = {},
): Promise<Asked> {
  const response = await fetch(`${ingest.url}${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.equal(response.headers.get("x-elastic-product"), "Elasticsearch", `${method} ${path}`);
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
}

function error(status: number, type: string, reason: string): Asked {
  return { status, body: { error: { type, reason, root_cause: [{ type, reason }] }, status } };
}

const ACKNOWLEDGED = { status: 200, body: { acknowledged: true } };
const TEMPLATE = { index_patterns: ["logs-*"], template: { settings: { number_of_shards: 1 } } };
const POLICY = { policy: { phases: { hot: { actions: { rollover: { max_age: "30d" } } } } } };

interface KindCase {
  readonly path: string;
  readonly body: object | undefined;
  readonly one: (name: string) => unknown;
  readonly none: unknown;
  readonly missing: (name: string) => Asked;
}

const KINDS: readonly KindCase[] = [
  {
    path: "/_index_template",
    body: TEMPLATE,
    one: (name) => ({ index_templates: [{ name, index_template: TEMPLATE }] }),
    none: { index_templates: [] },
    missing: (name) =>
      error(404, "resource_not_found_exception", `index template matching [${name}] not found`),
  },
  {
    path: "/_component_template",
    body: { template: { mappings: {} } },
    one: (name) => ({
      component_templates: [{ name, component_template: { template: { mappings: {} } } }],
    }),
    none: { component_templates: [] },
    missing: (name) =>
      error(404, "resource_not_found_exception", `component template matching [${name}] not found`),
  },
  {
    path: "/_ilm/policy",
    body: POLICY,
    one: (name) => ({
      [name]: {
        version: 1,
        modified_date: "*",
        ...POLICY,
        in_use_by: { indices: [], data_streams: [], composable_templates: [] },
      },
    }),
    none: {},
    missing: (name) =>
      error(404, "resource_not_found_exception", `Lifecycle policy not found: ${name}`),
  },
  {
    path: "/_ingest/pipeline",
    body: { processors: [{ set: { field: "a", value: 1 } }] },
    one: (name) => ({ [name]: { processors: [{ set: { field: "a", value: 1 } }] } }),
    none: {},
    missing: () => ({ status: 404, body: {} }),
  },
  {
    path: "/_template",
    body: { index_patterns: ["a*"], order: 5 },
    one: (name) => ({
      [name]: { order: 5, index_patterns: ["a*"], settings: {}, mappings: {}, aliases: {} },
    }),
    none: {},
    missing: () => ({ status: 404, body: {} }),
  },
  {
    path: "/_data_stream",
    body: undefined,
    one: (name) => ({
      data_streams: [{
        name,
        timestamp_field: { name: "@timestamp" },
        indices: [],
        generation: 1,
        status: "GREEN",
        template: name,
        hidden: false,
        system: false,
      }],
    }),
    none: { data_streams: [] },
    missing: (name) => error(404, "index_not_found_exception", `no such index [${name}]`),
  },
];

/** `modified_date` is that of the request. */
function undated(body: unknown): unknown {
  return JSON.parse(
    JSON.stringify(body),
    (name, value) => name === "modified_date" && !Number.isNaN(Date.parse(value)) ? "*" : value,
  );
}

for (const { path, body, one, none, missing } of KINDS) {
  for (const place of PLACES) {
    Deno.test({
      name: `${place}${path} acknowledges what is put, and GET and HEAD find that and nothing else`,
      fn: async () => {
        await using ingest = await RunningIngest.start(["--trust-scope-header"]);
        const at = `${place}${path}`;
        const acme = { "x-scope-orgid": "acme" };
        assert.deepEqual(await ask(ingest, ["GET", at]), { status: 200, body: none });
        assert.deepEqual(await ask(ingest, ["GET", `${at}/logs-*`]), { status: 200, body: none });
        assert.deepEqual(await ask(ingest, ["GET", `${at}/logs-a`]), missing("logs-a"));
        assert.equal((await ask(ingest, ["HEAD", `${at}/logs-a`])).status, 404);
        assert.deepEqual(await ask(ingest, ["PUT", `${at}/logs-a`, body]), ACKNOWLEDGED);
        for (const wanted of ["", "/logs-a", "/logs-*", "/*", "/x*,logs-a"]) {
          const found = await ask(ingest, ["GET", `${at}${wanted}`]);
          assert.equal(found.status, 200, wanted);
          assert.deepEqual(undated(found.body), one("logs-a"), wanted);
        }
        assert.equal((await ask(ingest, ["HEAD", `${at}/logs-a`])).status, 200);
        assert.deepEqual(await ask(ingest, ["GET", `${at}/logs-a,logs-b`]), missing("logs-b"));
        // Another tenant's are its own.
        assert.equal((await ask(ingest, ["HEAD", `${at}/logs-a`], acme)).status, 404);
        assert.equal((await ask(ingest, ["DELETE", `${at}/logs-a`])).status, 405);
        for (const [bad, status] of [["[]", 400], ["{", 400], ["1", 400]] as const) {
          assert.equal((await ask(ingest, ["PUT", `${at}/b`, bad])).status, status, bad);
        }
        if (body !== undefined) assert.equal((await ask(ingest, ["PUT", `${at}/b`])).status, 400);
        for (const name of ["a*", "a%2Fb", "a%20b", "a".repeat(600)]) {
          assert.equal((await ask(ingest, ["PUT", `${at}/${name}`, body])).status, 400, name);
        }
        const again = await ask(ingest, ["PUT", `${at}/logs-a`, body]);
        assert.equal(again.status, path === "/_data_stream" ? 400 : 200);
        assert.equal(await ingest.metric("svc_ingest_bodies_in_flight_bytes"), 0);
        assert.deepEqual(await ingest.rows(), []);
      },
    });
  }
}

Deno.test({
  name: "what shippers put needs a caller and takes from its rate, what they ask takes nothing",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--auth-tokens=t", "--ingest-rate-per-sec=1"]);
    const token = { authorization: "Bearer t" };
    const put = ["PUT", "/_index_template/a", TEMPLATE] as const;
    assert.equal((await ask(ingest, put)).status, 401);
    assert.equal((await ask(ingest, ["GET", "/_nodes"])).status, 401);
    for (let i = 0; i < 5; i += 1) {
      assert.equal((await ask(ingest, ["HEAD", "/_index_template/a"], token)).status, 404);
    }
    assert.equal((await ask(ingest, put, token)).status, 200);
    const limited = await ask(ingest, put, token);
    assert.equal(limited.status, 429);
    assert.equal((await ask(ingest, ["HEAD", "/_index_template/a"], token)).status, 200);
  },
});

Deno.test({
  name: "a template that is large is taken, one over 4 MiB or of nothing but brackets is refused",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    const fields = Object.fromEntries(
      Array.from({ length: 30_000 }, (_, i) => [`field.${i}`, { type: "keyword" }]),
    );
    const large = { template: { mappings: { properties: fields } } };
    assert.deepEqual(await ask(ingest, ["PUT", "/_index_template/l", large]), ACKNOWLEDGED);
    const { body } = await ask(ingest, ["GET", "/_index_template/l"]);
    assert.deepEqual(body, { index_templates: [{ name: "l", index_template: large }] });
    const pad = { pad: "x".repeat(4 * 1024 * 1024) };
    assert.equal((await ask(ingest, ["PUT", "/_index_template/l", pad])).status, 413);
    const brackets = `{"a":[${"[],".repeat(500_000)}[]]}`;
    assert.equal((await ask(ingest, ["PUT", "/_index_template/l", brackets])).status, 400);
    const typed = await ask(ingest, ["PUT", "/_index_template/l", "{}"], {
      "content-type": "text/plain",
    });
    assert.equal(typed.status, 415);
  },
});

Deno.test({
  name: "the cluster's one node has the address that the client asked, and a caller is its tenant",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--trust-scope-header", "--auth-tokens=t"]);
    const headers = { authorization: "Bearer t", "x-scope-orgid": "acme" };
    const address = new URL(ingest.url).host;
    for (const place of PLACES) {
      for (const path of ["/_nodes", "/_nodes/http", "/_nodes/_all/http", "/_nodes/_local"]) {
        const { status, body } = await ask(ingest, ["GET", `${place}${path}`], headers);
        assert.equal(status, 200);
        const reply = body as { _nodes: object; nodes: Record<string, Record<string, unknown>> };
        assert.deepEqual(reply._nodes, { total: 1, successful: 1, failed: 0 });
        const [node] = Object.values(reply.nodes);
        assert.equal(node?.version, "8.17.0");
        assert.deepEqual(node?.http, {
          bound_address: [address],
          publish_address: address,
          max_content_length_in_bytes: 33_554_432,
        });
      }
      const { body } = await ask(ingest, ["GET", `${place}/_security/_authenticate`], headers);
      const { username, enabled, authentication_type } = body as Record<string, unknown>;
      assert.deepEqual([username, enabled, authentication_type], ["acme", true, "token"]);
    }
  },
});

Deno.test({
  name:
    "an index that is made is acknowledged once and found, below the prefix and with --compat-at-root",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--compat-at-root"]);
    for (const place of PLACES) {
      const name = place === "" ? "root" : "below";
      const at = `${place}/${name}`;
      const none = error(404, "index_not_found_exception", `no such index [${name}]`);
      assert.deepEqual(await ask(ingest, ["GET", at]), none);
      assert.equal((await ask(ingest, ["HEAD", at])).status, 404);
      const body = { settings: { number_of_shards: 1 }, aliases: { [`${name}-all`]: {} } };
      assert.deepEqual(await ask(ingest, ["PUT", at, body]), {
        status: 200,
        body: { acknowledged: true, shards_acknowledged: true, index: name },
      });
      assert.deepEqual(
        await ask(ingest, ["PUT", at]),
        error(400, "resource_already_exists_exception", `index [${name}] already exists`),
      );
      const shown = {
        [name]: {
          aliases: { [`${name}-all`]: {} },
          mappings: {},
          settings: {
            index: { number_of_shards: "1", number_of_replicas: "0", provided_name: name },
          },
        },
      };
      for (const path of [at, `${at}-all`, `${at}*`]) {
        assert.deepEqual(await ask(ingest, ["GET", path]), { status: 200, body: shown }, path);
        assert.equal((await ask(ingest, ["HEAD", path])).status, 200, path);
      }
      assert.equal((await ask(ingest, ["DELETE", at])).status, 405);
      assert.equal((await ask(ingest, ["PUT", `${place}/Bad%20Name`])).status, 400);
      assert.equal((await ask(ingest, ["PUT", `${place}/traces`])).status, 400);
      const refreshed = { status: 200, body: { _shards: { total: 1, successful: 1, failed: 0 } } };
      assert.deepEqual(await ask(ingest, ["POST", `${at}/_refresh`]), refreshed);
      assert.deepEqual(await ask(ingest, ["POST", `${place}/_refresh`, {}]), refreshed);
    }
    // One that rows made is there, too.
    assert.equal((await ask(ingest, ["HEAD", "/by-rows"])).status, 404);
    assert.equal((await ask(ingest, ["POST", "/by-rows/_doc", { a: 1 }])).status, 201);
    assert.equal((await ask(ingest, ["HEAD", "/by-rows"])).status, 200);
    // Other routes keep their paths.
    for (const path of ["/healthz", "/readyz"]) {
      const response = await fetch(`${ingest.url}${path}`, { method: "PUT" });
      assert.equal(response.status, 405, path);
      assert.equal(response.headers.get("x-elastic-product"), null);
      await response.body?.cancel();
    }
  },
});

Deno.test({
  name: "aliases are acknowledged, all of a request or none, and found until they are removed",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    const missing = { status: 404, body: { error: "alias [all] missing", status: 404 } };
    assert.deepEqual(await ask(ingest, ["GET", "/_alias/all"]), missing);
    assert.deepEqual(await ask(ingest, ["GET", "/_aliases"]), { status: 200, body: {} });
    const add = (index: string, alias: string) => ({ add: { index, alias } });
    const bad = { actions: [add("a", "all"), { drop: { index: "a", alias: "b" } }] };
    // 400 million aliases, were they made before they are counted.
    const names = Array.from({ length: 20_000 }, () => "a");
    const product = { actions: [{ add: { indices: names, aliases: names } }] };
    assert.equal((await ask(ingest, ["POST", "/_aliases", product])).status, 400);
    assert.equal((await ask(ingest, ["POST", "/_aliases", bad])).status, 400);
    assert.deepEqual(await ask(ingest, ["HEAD", "/_alias/all"]), { status: 404, body: undefined });
    const good = { actions: [add("a", "all"), { add: { indices: ["b", "c"], aliases: ["all"] } }] };
    assert.deepEqual(await ask(ingest, ["POST", `${PREFIX}/_aliases`, good]), ACKNOWLEDGED);
    assert.deepEqual(await ask(ingest, ["PUT", "/a/_alias/other", {}]), ACKNOWLEDGED);
    assert.deepEqual((await ask(ingest, ["GET", "/_alias"])).body, {
      a: { aliases: { all: {}, other: {} } },
      b: { aliases: { all: {} } },
      c: { aliases: { all: {} } },
    });
    assert.deepEqual((await ask(ingest, ["GET", "/a/_alias/all"])).body, {
      a: { aliases: { all: {} } },
    });
    const remove = { actions: [{ remove: { index: "a", alias: "other" } }] };
    assert.deepEqual(await ask(ingest, ["POST", "/_aliases", remove]), ACKNOWLEDGED);
    assert.equal((await ask(ingest, ["HEAD", "/_alias/other"])).status, 404);
  },
});

Deno.test({
  name: "an index that rows made is found as an alias, too, and one that a request made is not",
  fn: async () => {
    await using ingest = await RunningIngest.start(["--compat-at-root"]);
    assert.equal((await ask(ingest, ["PUT", "/made", {}])).status, 200);
    const rows = '{"create":{"_index":"made"}}\n{}\n{"create":{"_index":"rows"}}\n{}\n';
    assert.equal((await ask(ingest, ["POST", "/_bulk", rows])).status, 200);
    assert.deepEqual(await ask(ingest, ["GET", "/_alias/rows"]), {
      status: 200,
      body: { rows: { aliases: { rows: {} } } },
    });
    assert.equal((await ask(ingest, ["HEAD", "/_alias/made"])).status, 404);
    assert.equal((await ask(ingest, ["HEAD", "/_alias/nothing"])).status, 404);
    assert.equal((await ask(ingest, ["HEAD", "/made/_alias/rows"])).status, 404);
  },
});

Deno.test({
  name:
    "without --compat-at-root documents are taken below the prefix alone, and the answer says so",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    for (const path of ["/_bulk", "/web/_bulk", "/web/_doc", "/web/_doc/1", "/web/_create/1"]) {
      const { status, body } = await ask(ingest, ["POST", path, '{"index":{}}\n{}\n']);
      assert.equal(status, 404, path);
      assert.match(JSON.stringify(body), /\/api\/v1\/_compat\/_bulk.*--compat-at-root/);
    }
    assert.equal((await ask(ingest, ["GET", "/_slm/policy"])).status, 404);
    const response = await fetch(`${ingest.url}/web`, { method: "PUT" });
    assert.equal(response.status, 404);
    assert.equal(response.headers.get("x-elastic-product"), null);
    await response.body?.cancel();
    assert.deepEqual(await ingest.rows(), []);
  },
});
