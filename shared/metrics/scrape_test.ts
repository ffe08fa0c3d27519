import assert from "node:assert/strict";
import { metricsHandler } from "./scrape.ts";

const ANSWERS = [
  ["GET", "/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"],
  ["HEAD", "/metrics", 200, "text/plain; version=0.0.4; charset=utf-8"],
  ["GET", "/healthz", 200, "application/json"],
  ["POST", "/metrics", 404, "text/plain;charset=UTF-8"],
  ["GET", "/", 404, "text/plain;charset=UTF-8"],
] as const;

Deno.test({
  name: "metricsHandler: serves metrics and liveness, nothing else",
  async fn() {
    const render = () =>
      Promise.resolve({ contentType: "text/plain; version=0.0.4; charset=utf-8", text: "a 1\n" });
    const handler = metricsHandler({ render });
    for (const [method, path, status, contentType] of ANSWERS) {
      const response = await handler(new Request(`http://localhost${path}`, { method }));
      const what = `${method} ${path}`;
      assert.deepEqual([response.status, response.headers.get("content-type")], [
        status,
        contentType,
      ], what);
    }
  },
});

Deno.test({
  name: "metricsHandler: /readyz tells why the process does not do its work, where it knows",
  async fn() {
    const render = () => Promise.resolve({ contentType: "text/plain", text: "" });
    const ask = (handler: ReturnType<typeof metricsHandler>) =>
      handler(new Request("http://localhost/readyz"));
    assert.equal((await ask(metricsHandler({ render }))).status, 404);
    let problem: string | undefined = "the catalog is away";
    const handler = metricsHandler({ render }, () => problem);
    const waiting = await ask(handler);
    assert.deepEqual([waiting.status, await waiting.json()], [503, {
      status: "not_ready",
      error: problem,
    }]);
    problem = undefined;
    assert.equal((await ask(handler)).status, 200);
  },
});
