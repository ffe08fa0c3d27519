/** The REST catalog over HTTP, over a real warehouse: the protocol's answers and refusals. */

import assert from "node:assert/strict";
import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { FakeEngine } from "../../tests/doubles/fake_engine.ts";
import { testService } from "../../tests/doubles/query_server.ts";
import { OPTIONS, startQuery } from "../mod.ts";
import { queryApp } from "../routes.ts";
import { RestCatalog, type RestCatalogParts } from "./rest_catalog.ts";
import { IN_THIS_PROCESS } from "../../shared/testing/in_this_process.ts";

const NS = 1_795_132_800_000_000_000n;

interface Lab extends AsyncDisposable {
  readonly lab: WarehouseLab;
  ask(path: string, init?: RequestInit): Promise<Response>;
}

async function openLab(flags: readonly string[] = []): Promise<Lab> {
  await using held = new AsyncDisposableStack();
  const lab = held.use(await WarehouseLab.open());
  await lab.commit([{ ns: NS, raw: "one" }]);
  const server = held.use(
    await startQuery(
      parseOptions(OPTIONS, [
        ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--audit-disabled"],
        ...["--data-dir", lab.dir, "--threads", "1", ...flags],
      ]),
      IN_THIS_PROCESS,
    ),
  );
  const all = held.move();
  const base = `http://127.0.0.1:${server.address.port}/iceberg/v1/`;
  return {
    lab,
    ask: (path, init) => fetch(`${base}${path}`, init),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

Deno.test({
  name: "the REST catalog tells namespaces, tables, and metadata as it is stored",
  async fn() {
    await using lab = await openLab();
    const { endpoints } = await (await lab.ask("config?warehouse=any")).json();
    assert.ok(endpoints.includes("HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}"));
    const json = async (path: string) => await (await lab.ask(path)).json();
    assert.deepEqual(await json("namespaces"), { namespaces: [["svc"]] });
    assert.deepEqual(await json("namespaces?parent=svc"), { namespaces: [] });
    assert.deepEqual(await json("namespaces/svc"), { namespace: ["svc"], properties: {} });
    assert.deepEqual(await json("namespaces/svc/tables"), {
      identifiers: [{ namespace: ["svc"], name: "events" }],
      "next-page-token": null,
    });
    assert.deepEqual(await json("namespaces/svc/views"), {
      identifiers: [],
      "next-page-token": null,
    });
    const loaded = await lab.ask("namespaces/svc/tables/events");
    const text = await loaded.text();
    const location = await lab.lab.catalog.metadataLocation({ namespace: "svc", name: "events" });
    assert.equal(JSON.parse(text)["metadata-location"], location);
    const stored = await Deno.readTextFile(new URL(location ?? ""));
    assert.ok(text.includes(`"metadata":${stored},"config":{}`), "digit by digit");
    for (const path of ["namespaces/svc", "namespaces/svc/tables/events"]) {
      const head = await lab.ask(path, { method: "HEAD" });
      assert.ok(head.ok, `${path} ${head.status}`);
    }
    const report = await lab.ask("namespaces/svc/tables/events/metrics", {
      method: "POST",
      body: "{}",
    });
    assert.equal(report.status, 204);
  },
});

const REFUSALS: readonly (readonly [string, string, number, string])[] = [
  ["GET", "namespaces/other", 404, "NoSuchNamespaceException"],
  ["GET", "namespaces?parent=other", 404, "NoSuchNamespaceException"],
  ["GET", "namespaces/other/tables", 404, "NoSuchNamespaceException"],
  ["GET", "namespaces/other/tables/events", 404, "NoSuchTableException"],
  ["GET", "namespaces/svc%1Fevents/tables/snapshots", 404, "NoSuchTableException"],
  ["GET", "namespaces/svc/tables/none", 404, "NoSuchTableException"],
  ["GET", "namespaces/svc/tables/..%2Fevents", 404, "NoSuchTableException"],
  ["GET", "namespaces/svc/tables?pageSize=-1", 400, "BadRequestException"],
  ["GET", "namespaces/other/views", 404, "NoSuchNamespaceException"],
  ["GET", "namespaces/svc/views/any", 404, "NoSuchViewException"],
  ["GET", "namespaces/svc/functions", 404, "NotFoundException"],
  ["POST", "namespaces/svc/views", 403, "ForbiddenException"],
  ["POST", "namespaces", 403, "ForbiddenException"],
  ["POST", "namespaces/svc/tables/events", 403, "ForbiddenException"],
  ["DELETE", "namespaces/svc/tables/events", 403, "ForbiddenException"],
  ["POST", "tables/rename", 403, "ForbiddenException"],
];

Deno.test({
  name: "the REST catalog refuses in the protocol's form, and every write",
  async fn() {
    await using lab = await openLab();
    for (const [method, path, status, type] of REFUSALS) {
      const answer = await lab.ask(path, { method, ...method === "POST" ? { body: "{}" } : {} });
      const { error } = await answer.json();
      assert.deepEqual([answer.status, error.code, error.type], [status, status, type], path);
      assert.match(error.message, /^Cannot /);
    }
    const token = await lab.ask("oauth/tokens", { method: "POST", body: "grant_type=x" });
    const { error, error_description } = await token.json();
    assert.deepEqual([token.status, error], [400, "unsupported_grant_type"]);
    assert.match(error_description, /identity provider.*oauth2-server-uri/);
    for (const name of ["none", "events"]) {
      const head = await lab.ask(`namespaces/svc/tables/${name}`, { method: "HEAD" });
      assert.equal(head.status, name === "none" ? 404 : 204);
    }
  },
});

Deno.test({
  name: "the REST catalog asks for the tokens that SQL asks for",
  async fn() {
    await using lab = await openLab(["--tokens", "secret"]);
    const stranger = await lab.ask("namespaces/svc/tables/events");
    assert.equal(stranger.status, 401);
    assert.equal(stranger.headers.get("www-authenticate"), "Bearer");
    assert.equal((await stranger.json()).error.type, "NotAuthorizedException");
    const headers = { authorization: "Bearer secret" };
    assert.equal((await lab.ask("namespaces/svc/tables", { headers })).status, 200);
  },
});

Deno.test({
  name: "one of many tenants is not told of the audit's table, which lies in the default one's",
  async fn() {
    const location = "file:///w/svc/query_audit/metadata/new.metadata.json";
    const icebergCatalog = catalogOf(["events", "query_audit"], Array(8).fill(location));
    for (const isOneOfMany of [true, false]) {
      const caller = { namespace: "svc", tenant: "default", isOneOfMany };
      const callers = { admit: () => Promise.resolve(caller) };
      const app = queryApp(testService(new FakeEngine(), { icebergCatalog, callers }));
      const ask = (path: string, method = "GET") =>
        app.request(`/iceberg/v1/namespaces/svc/tables${path}`, { method }, {
          remoteAddr: { hostname: "127.0.0.1" },
        });
      const { identifiers } = await (await ask("")).json();
      assert.deepEqual(
        identifiers.map(({ name }: { name: string }) => name),
        isOneOfMany ? ["events"] : ["events", "query_audit"],
      );
      const [whole, head] = [await ask("/query_audit"), await ask("/query_audit", "HEAD")];
      await whole.body?.cancel();
      assert.deepEqual([whole.status, head.status], isOneOfMany ? [404, 404] : [200, 204]);
    }
  },
});

Deno.test({
  name: "credentials of a table's files go to who asks for them, where the server has some",
  async fn() {
    const location = "file:///w/svc/events-1/metadata/new.metadata.json";
    const config = { "s3.access-key-id": "a key" };
    const vended = { for: () => Promise.resolve(config) };
    for (const given of [vended, undefined]) {
      const icebergCatalog = catalogOf(["events"], Array(8).fill(location), given);
      const app = queryApp(testService(new FakeEngine(), { icebergCatalog }));
      for (const ways of [undefined, "remote-signing", "remote-signing, vended-credentials"]) {
        const headers = ways === undefined ? {} : { "x-iceberg-access-delegation": ways };
        const answer = await app.request("/iceberg/v1/namespaces/svc/tables/events", { headers }, {
          remoteAddr: { hostname: "127.0.0.1" },
        });
        const told = await answer.json();
        const isTold = given !== undefined && ways?.includes("vended") === true;
        assert.deepEqual(told.config, isTold ? config : {});
        assert.deepEqual(
          told["storage-credentials"],
          isTold ? [{ prefix: "file:///w/svc/events-1", config }] : undefined,
        );
      }
    }
  },
});

Deno.test({
  name: "a token service without a role, or for a warehouse on a disk, is refused at the start",
  async fn() {
    const [url, role] = ["--iceberg-sts-url", "--iceberg-sts-role"];
    for (
      const flags of [[url, "https://sts/"], [role, "arn"], [url, "https://sts/", role, "arn"]]
    ) {
      await assert.rejects(openLab(flags), /need each other, and a warehouse in S3/);
    }
  },
});

/** A catalog of these names, whose pointer moves on with each look. */
function catalogOf(
  names: readonly string[],
  locations: string[] = [],
  vended: RestCatalogParts["vended"] = undefined,
): RestCatalog {
  return new RestCatalog({
    vended,
    catalog: {
      tables: () => Promise.resolve([...names]),
      metadataLocation: () => Promise.resolve(locations.shift()),
    },
    store: {
      rootUri: "file:///w",
      head: (key) => Promise.resolve({ key, size: 2, modifiedMs: 0 }),
      get: (key) =>
        key.endsWith("new.metadata.json")
          ? Promise.resolve(new Uint8Array([123, 125]))
          : Promise.reject(new OperatingError("not_found", `Cannot read ${key}`)),
    },
    properties: {},
  });
}

Deno.test({
  name: "names come in pages, each once and in order",
  async fn() {
    const catalog = catalogOf(["c", "a", "e", "b", "d"]);
    const found: string[] = [];
    for (let after: string | undefined = ""; after !== undefined;) {
      const page = await catalog.names({ namespace: "svc" }, { after, namesMax: 2 });
      found.push(...page.names);
      after = page.next;
    }
    assert.deepEqual(found, ["a", "b", "c", "d", "e"]);
  },
});

Deno.test({
  name: "a metadata file that a commit replaced meanwhile is looked for anew, once",
  async fn() {
    const ident = { namespace: "svc", name: "events" };
    const [old, next] = ["old", "new"].map((name) =>
      `file:///w/svc/events-1/metadata/${name}.metadata.json`
    ) as [string, string];
    const room = () => {};
    const { location } = await catalogOf([], [old, next]).metadata(ident, room);
    assert.equal(location, next);
    await assert.rejects(catalogOf([], [old, old, next]).metadata(ident, room), {
      code: "not_found",
    });
    const full = () => {
      throw new OperatingError("unavailable", "no room");
    };
    await assert.rejects(catalogOf([], [next, next]).metadata(ident, full), {
      code: "unavailable",
    });
  },
});

Deno.test({
  name:
    "a table whose metadata lies outside of the warehouse is refused: it would be the original's",
  async fn() {
    const elsewhere = "file:///original/svc/events-1/metadata/new.metadata.json";
    const catalog = catalogOf([], [elsewhere]);
    await assert.rejects(
      catalog.metadata({ namespace: "svc", name: "events" }, () => {}),
      (error) =>
        isOperatingError(error, "precondition_failed") && error.reason === "moved_warehouse" &&
        error.message.includes("svc relocate"),
    );
  },
});
