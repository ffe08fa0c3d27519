import { strict as assert } from "node:assert";
import { ByteBudget } from "../shared/base/byte_budget.ts";
import type { JobDesk } from "./jobs/batch_jobs.ts";
import { queryApp } from "./routes.ts";
import { FakeEngine } from "../tests/doubles/fake_engine.ts";
import { testService } from "../tests/doubles/query_server.ts";

function appWith(problem: string | undefined) {
  return queryApp(testService(new FakeEngine(), { readiness: { problem } }));
}

Deno.test({
  name: "queryApp answers each route, and JSON for what is none",
  async fn() {
    const cases: [string, string, string | undefined, number, RegExp][] = [
      ["GET", "/healthz", "engine down", 200, /^\{"status":"ok"\}$/],
      ["GET", "/readyz", undefined, 200, /^\{"status":"ready"\}$/],
      ["GET", "/readyz", "disk gone", 503, /^\{"status":"not_ready","error":"disk gone"\}$/],
      ["GET", "/api/v1/sql", undefined, 405, /"code":405/],
      ["DELETE", "/api/v1/sql/explain", undefined, 405, /"code":405/],
      ["POST", "/healthz", undefined, 405, /"code":405/],
      ["GET", "/", undefined, 404, /"code":404/],
      ["POST", "/api/v1/nothing", undefined, 404, /"code":404/],
    ];
    for (const [method, path, problem, status, body] of cases) {
      const response = await appWith(problem).request(path, { method });
      assert.equal(response.status, status, `${method} ${path}`);
      assert.match(await response.text(), body);
      assert.equal(response.headers.get("content-type"), "application/json");
      const timed = response.headers.has("x-svc-server-micros");
      assert.equal(timed, path.startsWith("/api/v1/"), `${method} ${path} server time`);
      if (status === 405) assert.equal(response.headers.has("allow"), true);
    }
  },
});

Deno.test({
  name: "queryApp HEAD tells the length that GET has, and 405 lists it",
  async fn() {
    const app = appWith(undefined);
    for (const path of ["/healthz", "/nothing"]) {
      const got = await app.request(path);
      const head = await app.request(path, { method: "HEAD" });
      const { byteLength } = await got.bytes();
      assert.equal(got.headers.get("content-length"), String(byteLength), path);
      // "HEAD" is as long as "GET" and one more, which the message of a 404 names.
      const more = path === "/healthz" ? 0 : 1;
      assert.equal(head.headers.get("content-length"), String(byteLength + more), path);
      assert.equal(await head.text(), "");
    }
    const refused = await app.request("/api/v1/indexes", { method: "PATCH" });
    assert.equal(refused.headers.get("allow"), "GET, HEAD, POST");
  },
});

Deno.test({
  name: "queryApp HEAD of a job's result keeps no room of answers",
  async fn() {
    const answers = new ByteBudget(2 ** 20);
    const jobs: Partial<JobDesk> = {
      result: () => Promise.resolve({ head: "[", tail: "]", rows: undefined, parts: 1 }),
      resultPart: () => Promise.resolve(new Uint8Array(1_000)),
    };
    const app = queryApp(testService(new FakeEngine(), { answers, jobs: jobs as JobDesk }));
    const path = "/api/v1/jobs/01a202ea-b7cf-7d2c-a86f-c9d08b6bbfea/result";
    const { status } = await app.request(path, { method: "HEAD" }, {
      remoteAddr: { hostname: "127.0.0.1" },
    });
    assert.deepEqual([status, answers.used], [200, 0]);
  },
});
