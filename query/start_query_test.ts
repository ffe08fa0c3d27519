import { strict as assert } from "node:assert";
import { join } from "node:path";
import { isOperatingError, OperatingError } from "../shared/base/errors.ts";
import { parseOptions } from "../shared/config/parse_options.ts";
import { configureLogging, resetLogging } from "../shared/logging/logging.ts";
import { FakeEngine } from "../tests/doubles/fake_engine.ts";
import { OPTIONS, startQuery } from "./mod.ts";
import { startTestServer } from "../tests/doubles/query_server.ts";

const FREE = ["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0"];

Deno.test({
  name: "startQuery refuses what it cannot use, in words that name the option",
  async fn() {
    const dir = await Deno.makeTempDir();
    const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    try {
      const file = join(dir, "file");
      await Deno.writeTextFile(file, "");
      const port = `127.0.0.1:${taken.addr.port}`;
      const fake = new FakeEngine();
      const cases: [string[], RegExp, { engine?: FakeEngine }][] = [
        [["--bind", port], /in use.*--bind/, { engine: fake }],
        [["--metrics-bind", port], /in use.*--metrics-bind/, { engine: fake }],
        [["--bind", "nonsense"], /nonsense.*--bind/, { engine: fake }],
        [["--warehouse", file], /Cannot read .*file.*--warehouse/, {}],
        [["--query-wal-buffer-dir", file], /Cannot read .*--query-wal-buffer-dir/, {}],
        [["--cache-dir", join(file, "cache")], /Cannot write the cache folder.*--cache-dir/, {}],
        [["--warehouse-url", "gs://bucket"], /"gs".*--warehouse-url/, {}],
        [["--warehouse-url", "s3://bucket"], /without AWS_ACCESS_KEY_ID/, {}],
        [["--query-hot-caches"], /--query-hot-caches alone.*--query-wal-buffer-dir/, {}],
        [["--catalog-uri", "mysql://u:secret@h/db"], /"mysql"/, {}],
      ];
      for (const [flags, message, deps] of cases) {
        const settings = parseOptions(OPTIONS, ["--data-dir", dir, ...FREE, ...flags]);
        await assert.rejects(startQuery(settings, deps), (error) => {
          assert.ok(isOperatingError(error), `${error}`);
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /\n|secret/);
          return true;
        });
      }
      assert.equal(fake.closed, true, "what had been opened is closed");
    } finally {
      taken.close();
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name: "startQuery warns that it is open, and logs failures without the statement",
  async fn() {
    const lines: string[] = [];
    await configureLogging({ level: "info", writeLine: (line) => lines.push(line) });
    try {
      await using server = await startTestServer({
        onChunk() {
          throw new OperatingError("internal", "engine broke", { cause: new Error("disk") });
        },
      });
      const response = await server.post("/api/v1/sql", { query: "SELECT 'a secret'" });
      assert.equal(response.status, 500);
      assert.doesNotMatch(await response.text(), /disk/);
    } finally {
      await resetLogging();
    }
    const log = lines.join("\n");
    assert.match(log, /WRN query no authentication is configured/);
    assert.match(log, /ERR query query failed: engine broke.*disk/);
    assert.doesNotMatch(log, /secret/);
  },
});

Deno.test({
  name: "startQuery serves probes and metrics, and closes its engine when stopped",
  async fn() {
    const server = await startTestServer();
    await using _ = server;
    for (const path of ["/healthz", "/readyz"]) {
      const response = await fetch(`${server.url}${path}`);
      await response.body?.cancel();
      assert.equal(response.status, 200, path);
    }
    const scrape = await fetch(server.metricsUrl);
    assert.match(await scrape.text(), /^svc_build_info\{version="[^"]+",role="query"\} 1$/m);
    assert.equal(server.engine.closed, false);
    await server[Symbol.asyncDispose]();
    assert.equal(server.engine.closed, true);
    await assert.rejects(fetch(`${server.url}/healthz`));
  },
});

Deno.test({
  name: "startQuery once it is stopping is not ready, and tells who waited that it may ask again",
  async fn() {
    const begun = Promise.withResolvers<void>();
    const interrupted = Promise.withResolvers<void>();
    await using server = await startTestServer({
      rows: [1],
      async onChunk() {
        begun.resolve();
        await interrupted.promise;
        // DuckDB throws this when it closes.
        throw new OperatingError("cancelled", "The statement was interrupted");
      },
    });
    const asked = server.post("/api/v1/sql", { query: "SELECT 1" });
    await begun.promise;
    const stopped = server[Symbol.asyncDispose]();
    const ready = await fetch(`${server.url}/readyz`);
    assert.equal(ready.status, 503);
    assert.match(await ready.text(), /"the server is stopping"/);
    interrupted.resolve();
    const answer = await asked;
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get("retry-after"), "1");
    assert.equal((await answer.json()).reason, "server_stopping");
    await stopped;
  },
});
