import { strict as assert } from "node:assert";
import { queryApp } from "./routes.ts";
import { FakeEngine } from "./fake_engine.ts";
import { testService } from "./testing_server.ts";

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
