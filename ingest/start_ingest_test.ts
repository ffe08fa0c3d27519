import assert from "node:assert/strict";
import { join } from "node:path";
import { utf8 } from "../shared/base/bytes.ts";
import { isOperatingError } from "../shared/base/errors.ts";
import { VERSION } from "../shared/base/version.ts";
import { parseOptions } from "../shared/config/parse_options.ts";
import { configureLogging, resetLogging } from "../shared/logging/logging.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { leastOf } from "../shared/testing/least_of.ts";
import { Connection } from "../tests/apps/raw_connection.ts";
import { RunningIngest } from "../tests/clients/running_ingest.ts";
import { ingestPaths, OPTIONS, startIngest } from "./mod.ts";

const JSON_HEADERS = { "content-type": "application/json" };

function oneRow(text: string): string {
  const logRecords = [{ timeUnixNano: "1763000000000000000", body: { stringValue: text } }];
  return JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
}

function settingsOf(...args: string[]) {
  const listeners = ["--bind", "--metrics-bind", "--otlp-grpc-listen"]
    .flatMap((flag) => [flag, "127.0.0.1:0"]);
  return parseOptions(OPTIONS, [...listeners, ...args]);
}

Deno.test({
  name: "startIngest serves probes on its address and metrics on the other, quickly",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    const tookMs = await leastOf(200, async () => {
      const begun = performance.now();
      const health = await fetch(`${ingest.url}/healthz`);
      assert.deepEqual(await health.json(), { status: "ok" });
      const ready = await fetch(`${ingest.url}/readyz`);
      assert.equal(ready.status, 200);
      assert.deepEqual(await ready.json(), { status: "ready" });
      return performance.now() - begun;
    });
    assert.ok(tookMs < 200, `two probes took ${tookMs} ms`);
    const scrape = await fetch(ingest.metricsUrl);
    assert.equal(scrape.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    const text = await scrape.text();
    assert.ok(text.includes(`svc_build_info{version="${VERSION}",role="ingest"} 1`));
    assert.match(text, /^svc_ingest_tenant_denied_total\{reason="header_not_trusted"\} 0$/m);
    assert.match(text, /^svc_ingest_ready 1$/m);
    assert.match(text, /^svc_ingest_wal_segments\{state="sealed"\} 0$/m);
    const misplaced = await fetch(`${ingest.url}/metrics`);
    assert.equal(misplaced.status, 404);
    await misplaced.body?.cancel();
  },
});

Deno.test({
  name: "startIngest warns that it is open, and not where it is not",
  fn: async () => {
    for (const args of [[], ["--auth-tokens", "a-token"]]) {
      const lines: string[] = [];
      await configureLogging({ level: "info", writeLine: (line) => lines.push(line) });
      try {
        await using _ingest = await RunningIngest.start(args);
      } finally {
        await resetLogging();
      }
      const isWarned = lines.some((line) => /WRN ingest no authentication/.test(line));
      assert.equal(isWarned, args.length === 0, lines.join("\n"));
    }
  },
});

Deno.test({
  name:
    "startIngest keeps the free space that --ingest-free-space-floor-mib names, and 0 keeps none",
  fn: async () => {
    class SmallDisk extends DenoFileSystem {
      override freeBytes(): Promise<number> {
        return Promise.resolve(10 * 1024 * 1024);
      }
    }
    const cases: [args: string[], status: number][] = [
      [[], 503],
      [["--ingest-free-space-floor-mib", "11"], 503],
      [["--ingest-free-space-floor-mib", "9"], 200],
      [["--ingest-free-space-floor-mib", "0"], 200],
    ];
    for (const [args, status] of cases) {
      await using ingest = await RunningIngest.start(args, { fs: new SmallDisk() });
      const response = await ingest.post(oneRow("small"), { headers: JSON_HEADERS });
      await response.body?.cancel();
      assert.equal(response.status, status, args.join(" "));
    }
  },
});

Deno.test({
  name: "startIngest refuses a WAL that is open, naming it, and leaves the first server working",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    await assert.rejects(
      startIngest(settingsOf("--data-dir", ingest.dataDir)),
      (error) =>
        isOperatingError(error, "conflict") && error.message.includes(join(ingest.dataDir, "wal")),
    );
    const response = await ingest.post(oneRow("still here"), { headers: JSON_HEADERS });
    await response.body?.cancel();
    assert.equal(response.status, 200);
  },
});

Deno.test({
  name: "startIngest gives the WAL back when its port is in use",
  fn: async () => {
    const dataDir = await Deno.makeTempDir();
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    try {
      const bind = `127.0.0.1:${taken.addr.port}`;
      await assert.rejects(
        startIngest(settingsOf("--data-dir", dataDir, "--bind", bind)),
        (error) => isOperatingError(error, "unavailable") && error.message.includes(bind),
      );
      await using _server = await startIngest(settingsOf("--data-dir", dataDir));
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});

Deno.test({
  name: "stop seals the WAL and ends the drain; a new server goes on",
  fn: async () => {
    const calls: string[] = [];
    const startDrain = () => ({
      wake: () => {},
      [Symbol.asyncDispose]: () => Promise.resolve(void calls.push("drain stopped")),
    });
    await using ingest = await RunningIngest.start([], { startDrain });
    const response = await ingest.post(oneRow("first"), { headers: JSON_HEADERS });
    await response.body?.cancel();
    await Promise.all([ingest.server.stop(), ingest.server.stop()]);
    assert.deepEqual(calls, ["drain stopped"]);
    await assert.rejects(fetch(`${ingest.url}/healthz`));

    const lane = join(ingest.dataDir, "wal", "default", "events");
    assert.equal([...Deno.readDirSync(join(lane, "active"))].length, 0);
    assert.equal([...Deno.readDirSync(join(lane, "sealed"))].length, 1);
    await using again = await startIngest(settingsOf("--data-dir", ingest.dataDir));
    const url = `http://127.0.0.1:${again.address.port}/v1/logs`;
    const second = await fetch(url, {
      method: "POST",
      headers: JSON_HEADERS,
      body: oneRow("second"),
    });
    await second.body?.cancel();
    assert.deepEqual((await ingest.rows()).map((row) => row.columns.raw), ["first", "second"]);
  },
});

Deno.test({
  name: "stop is not ready while it waits for a body that is on its way, which is stored",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    const { server, url } = ingest;
    using sender = await Connection.open(server.address.port);
    const body = oneRow("late");
    const head = `POST /v1/logs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
      `content-length: ${body.length}\r\n\r\n`;
    await sender.write(utf8(head + body.slice(0, 20)));
    while (!(await ingest.metric("svc_ingest_bodies_in_flight_bytes") > 0));
    const stopped = server.stop();
    const ready = await fetch(`${url}/readyz`);
    assert.equal(ready.status, 503);
    assert.match(await ready.text(), /it is stopping/);
    await sender.write(utf8(body.slice(20)));
    assert.equal(await sender.status(), 200);
    await stopped;
    assert.deepEqual((await ingest.rows()).map((row) => row.columns.raw), ["late"]);
  },
});

const PATHS: { args: string[]; wal: string; warehouse?: string; catalog: string }[] = [
  { args: ["--data-dir", "/d"], wal: "/d/wal", catalog: "/d/warehouse/catalog.db" },
  {
    args: ["--data-dir", "/d", "--wal", "/w", "--warehouse", "lake"],
    wal: "/w",
    warehouse: "/d/lake",
    catalog: "/d/lake/catalog.db",
  },
  {
    args: ["--data-dir", "/d", "--warehouse-url", "file:///lake"],
    wal: "/d/wal",
    warehouse: "/lake",
    catalog: "/lake/catalog.db",
  },
  {
    args: ["--data-dir", "/d", "--catalog-uri", "sqlite:///c/x.db?mode=rwc"],
    wal: "/d/wal",
    catalog: "/c/x.db",
  },
];

for (const { args, wal, warehouse = "/d/warehouse", catalog } of PATHS) {
  Deno.test({
    name: `ingestPaths of ${args.join(" ")}`,
    fn: () =>
      assert.deepEqual(ingestPaths(parseOptions(OPTIONS, args)), { wal, warehouse, catalog }),
  });
}
