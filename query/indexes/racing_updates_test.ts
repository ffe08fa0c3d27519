/**
 * Clients change one configuration at once, through two servers over one catalog. One of two
 * contradicting changes wins, and what is stored is what one client sent, whole.
 */

import assert from "node:assert/strict";
import { openCatalog } from "../../shared/catalog/open_catalog.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { POSTGRES, PostgresProcess } from "../../shared/testing/postgres_process.ts";
import { startTestServer, type TestServer } from "../../tests/doubles/query_server.ts";

/** Each answer to a change waits until ingest servers have heard of it. */
const ROUNDS = 3;
const FIELDS = [{ name: "timestamp", type: "datetime", required: true }];

interface Lab {
  readonly servers: readonly [TestServer, TestServer];
  /** The configuration and tag that the catalog has. */
  stored(id: string): Promise<{ readonly config: unknown; readonly etag: string } | undefined>;
}

interface Answer {
  readonly status: number;
  readonly etag: string | undefined;
  readonly body: unknown;
}

const CASES: Readonly<Record<string, (lab: Lab, id: string) => Promise<void>>> = {
  "POST of one id: one makes it, the others hear 409": async (lab, id) => {
    const answers = await race(lab, 4, (client, n) => client("POST", "indexes", mapped(id, n)));
    assert.deepEqual(statuses(answers), [201, 409, 409, 409]);
    await assertWon(lab, id, answers);
  },
  "PUT with If-Match: one wins, the others hear 412": async (lab, id) => {
    const { etag = "" } = await clientOf(lab.servers[0])("POST", "indexes", mapped(id));
    const answers = await race(
      lab,
      4,
      (client, n) => client("PUT", `indexes/${id}`, mapped(id, n), { "if-match": etag }),
    );
    assert.deepEqual(statuses(answers), [200, 412, 412, 412]);
    await assertWon(lab, id, answers);
  },
  "PUT without If-Match: one wins, the others hear 400 as they lack its field": async (lab, id) => {
    await clientOf(lab.servers[0])("POST", "indexes", mapped(id));
    const answers = await race(
      lab,
      4,
      (client, n) => client("PUT", `indexes/${id}`, mapped(id, n)),
    );
    assert.deepEqual(statuses(answers), [200, 400, 400, 400]);
    await assertWon(lab, id, answers);
  },
  "PUT against DELETE: it is there as it was put, or gone": async (lab, id) => {
    const { etag = "" } = await clientOf(lab.servers[0])("POST", "indexes", mapped(id));
    const [put, gone] = await race(
      lab,
      2,
      (client, n) =>
        n === 0
          ? client("PUT", `indexes/${id}`, mapped(id, n), { "if-match": etag })
          : client("DELETE", `indexes/${id}`),
    );
    assert.equal(gone?.status, 204);
    assert.ok(put?.status === 200 || put?.status === 404, `PUT answered ${put?.status}`);
    assert.equal(await lab.stored(id), undefined);
  },
  "PUT of a template: the last one stands, whole": async (lab, id) => {
    const answers = await race(
      lab,
      4,
      (client, n) => client("PUT", `index-templates/${id}`, template(id, n)),
    );
    assert.deepEqual(statuses(answers), [200, 200, 200, 200]);
    const { body, etag } = await clientOf(lab.servers[1])("GET", `index-templates/${id}`);
    const stands = answers.find((answer) => answer.etag === etag);
    assert.deepEqual(stands?.body, body);
  },
  "PUT of a template with If-Match: one wins, the others hear 412": async (lab, id) => {
    const path = `index-templates/${id}`;
    const client = clientOf(lab.servers[0]);
    const none = await client("PUT", path, template(id), { "if-match": "*" });
    assert.equal(none.status, 412, "there is none");
    const { etag = "" } = await client("PUT", path, template(id));
    const answers = await race(
      lab,
      4,
      (client, n) => client("PUT", path, template(id, n), { "if-match": etag }),
    );
    assert.deepEqual(statuses(answers), [200, 412, 412, 412]);
    const won = answers.find(({ status }) => status === 200);
    const stands = await client("GET", path);
    assert.deepEqual([stands.body, stands.etag], [won?.body, won?.etag]);
  },
};

Deno.test({
  name: "clients that change one configuration at once: one wins, in SQLite",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-racing-" });
    await runAll(["--data-dir", folder], `${folder}/warehouse/catalog.db`);
    await Deno.remove(folder, { recursive: true });
  },
});

Deno.test({
  name: "clients that change one configuration at once: one wins, in PostgreSQL",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn() {
    await using postgres = await PostgresProcess.start();
    const uri = await postgres.newDatabase();
    const folder = await Deno.makeTempDir({ prefix: "svc-racing-" });
    await runAll(["--data-dir", folder, "--catalog-uri", uri], uri);
    await Deno.remove(folder, { recursive: true });
  },
});

/** All cases side by side, each with names of its own, again and again. */
async function runAll(flags: readonly string[], place: string): Promise<void> {
  await using first = await startTestServer({}, flags);
  await using second = await startTestServer({}, flags);
  await using catalog = await openCatalog(place, { files: new DenoFileSystem() });
  const lab: Lab = {
    servers: [first, second],
    stored: async (id) => (await catalog.indexView("svc")).indexes.get(id),
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all(
      Object.entries(CASES).map(async ([name, run], at) => {
        try {
          await run(lab, `r${round}-${at}`);
        } catch (error) {
          throw new Error(`${name}, round ${round}`, { cause: error });
        }
      }),
    );
  }
}

type Client = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>;

function clientOf({ url }: TestServer): Client {
  return async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}/api/v1/${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      etag: response.headers.get("etag") ?? undefined,
      body: text === "" ? undefined : JSON.parse(text),
    };
  };
}

/** `count` requests at once, in turn to either server. */
function race(
  { servers }: Lab,
  count: number,
  ask: (client: Client, n: number) => Promise<Answer>,
): Promise<Answer[]> {
  return Promise.all(
    Array.from({ length: count }, (_, n) => ask(clientOf(servers[n % 2 === 0 ? 0 : 1]), n)),
  );
}

/** With a field of its own where `n` is given. */
function mapped(index_id: string, n?: number) {
  const own = n === undefined ? [] : [{ name: `own_${n}`, type: "long", required: false }];
  return { index_id, doc_mapping: { field_mappings: [...FIELDS, ...own] } };
}

function template(id: string, n?: number) {
  const { doc_mapping } = mapped(id, n);
  return { index_id_patterns: [`${id}-${n ?? "x"}-*`], priority: n ?? 0, doc_mapping };
}

function statuses(answers: readonly Answer[]): number[] {
  return answers.map(({ status }) => status).toSorted();
}

/** The catalog holds just what the one that succeeded was answered. */
async function assertWon(lab: Lab, id: string, answers: readonly Answer[]): Promise<void> {
  const [won, ...others] = answers.filter(({ status }) => status < 300);
  assert.deepEqual(others, []);
  const stored = await lab.stored(id);
  assert.deepEqual([stored?.config, `"${stored?.etag}"`], [won?.body, won?.etag]);
}
