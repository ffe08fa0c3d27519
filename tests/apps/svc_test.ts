/** `svc` as a process: pipes, exit statuses, and the roles that it runs. */

import assert from "node:assert/strict";
import { workspacePath } from "../../cli/permissions.ts";
import { VERSION } from "../../shared/base/version.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";

const UP_MS_MAX = 60_000;

Deno.test({
  name: "svc gen ends quietly with status 0 when its reader leaves",
  fn: async () => {
    const process = spawn(["gen", "--n", "1000000"]);
    const reader = process.stdout.getReader();
    const { value } = await reader.read();
    assert.ok((value?.byteLength ?? 0) > 0);
    await reader.cancel();
    const [{ code }, notes] = await Promise.all([process.status, textOf(process.stderr)]);
    assert.deepEqual({ code, notes }, { code: 0, notes: "" });
  },
});

const STATUSES: { args: string[]; code: number; output: RegExp; notes: RegExp }[] = [
  { args: ["--version"], code: 0, output: new RegExp(`^${VERSION}\n$`), notes: /^$/ },
  { args: ["gen", "--n", "1", "--seed", "1"], code: 0, output: /^\{.*\}\n$/, notes: /^$/ },
  { args: ["quary"], code: 2, output: /^$/, notes: /^svc: .*Did you mean query\?/ },
  {
    args: ["query", "--data-dir", "./none", "--sql", "SELECT 1"],
    code: 1,
    output: /^$/,
    notes: /^svc: Cannot query .*\/none: there is no such folder/,
  },
  {
    args: ["sql", "--endpoint", "http://127.0.0.1:1", "SELECT 1"],
    code: 1,
    output: /^$/,
    notes: /^svc: /,
  },
];

for (const { args, code, output, notes } of STATUSES) {
  Deno.test({
    name: `svc ${args.join(" ")} exits with ${code}`,
    fn: async () => {
      const process = spawn(args);
      const [status, stdout, stderr] = await Promise.all([
        process.status,
        textOf(process.stdout),
        textOf(process.stderr),
      ]);
      assert.match(stdout, output);
      assert.match(stderr, notes);
      assert.equal(status.code, code);
    },
  });
}

Deno.test({
  name: "svc ingest that is interrupted while its input says nothing ingests nothing",
  fn: async () => {
    await withDataDir(async (dataDir) => {
      const process = spawn(["ingest", "--data-dir", dataDir], "piped");
      const writer = process.stdin.getWriter();
      await writer.write(new TextEncoder().encode(`{"message":"one"}\n`));
      // Once the table is there, the command waits for its next line.
      await until(() => new DenoFileSystem().exists(`${dataDir}/warehouse/svc`));
      process.kill("SIGINT");
      const [{ code }, notes] = await Promise.all([
        process.status,
        textOf(process.stderr),
        process.stdout.cancel(),
      ]);
      await writer.close().catch(() => {});
      assert.equal(code, 1, notes);
      assert.match(notes, /^svc: Cannot go on: interrupted; nothing was ingested/);
      assert.equal(await countTable(dataDir), 0);
    });
  },
});

Deno.test({
  name: "svc ingest-server --with-compactor commits what commit=force asks for, and stops in order",
  fn: async () => {
    await withDataDir(async (dataDir) => {
      const url = await withServer(dataDir, ["--with-compactor"], async (url) => {
        const response = await sendLog(`${url}/v1/logs?commit=force`);
        assert.equal(response.status, 200, await response.text());
        assert.equal(await countTable(dataDir), 1);
        return url;
      });
      await assert.rejects(fetch(`${url}/healthz`));
    });
  },
});

Deno.test({
  name: "svc ingest-server alone only writes the WAL; svc compactor --once commits it",
  fn: async () => {
    await withDataDir(async (dataDir) => {
      await withServer(dataDir, [], async (url) => {
        const response = await sendLog(`${url}/v1/logs`);
        assert.equal(response.status, 200, await response.text());
      });
      await assert.rejects(countTable(dataDir), /warehouse: there is no such folder/);
      const compactor = spawn(["compactor", "--once", "--data-dir", dataDir]);
      const [{ code }, summary] = await Promise.all([
        compactor.status,
        textOf(compactor.stdout),
        compactor.stderr.cancel(),
      ]);
      assert.equal(code, 0);
      assert.match(summary, /^drained 1 row in 1 file with 1 commit/);
      assert.equal(await countTable(dataDir), 1);
    });
  },
});

async function withDataDir(work: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "svc-apps-" });
  try {
    await work(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** Runs `work` against an ingest server, then ends it with SIGTERM, which must give status 0. */
async function withServer<T>(
  dataDir: string,
  args: readonly string[],
  work: (url: string) => Promise<T>,
): Promise<T> {
  const [port, metricsPort] = freePorts(2);
  const url = `http://127.0.0.1:${port}`;
  const binds = [
    ...["--bind", `127.0.0.1:${port}`, "--metrics-bind", `127.0.0.1:${metricsPort}`],
    "--disable-otlp-grpc",
  ];
  const process = spawn(["ingest-server", "--data-dir", dataDir, ...binds, ...args]);
  const log = textOf(process.stderr);
  try {
    await untilReady(`${url}/readyz`);
    const result = await work(url);
    process.kill("SIGTERM");
    assert.equal((await process.status).code, 0, await log);
    return result;
  } catch (error) {
    try {
      process.kill("SIGKILL");
    } catch { /* it has ended */ }
    throw new Error(`${error}\nThe server said:\n${await log}`, { cause: error });
  } finally {
    await process.stdout.cancel();
  }
}

async function untilReady(url: string): Promise<void> {
  await until(async () => {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    return response?.ok ?? false;
  });
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + UP_MS_MAX;
  while (!await holds()) {
    if (Date.now() > deadline) throw new Error(`did not come true within ${UP_MS_MAX} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function sendLog(url: string): Promise<Response> {
  const logRecords = [{ timeUnixNano: `${Date.now()}000000`, body: { stringValue: "hi" } }];
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
  });
}

/** Rows of the table alone: `sql-direct` does not look into the WAL. */
async function countTable(dataDir: string): Promise<number> {
  const sql = "SELECT count(*) AS n FROM events";
  const args = ["sql-direct", "--data-dir", dataDir, "--format", "ndjson", "--query", sql];
  const process = spawn(args);
  const [output, notes] = await Promise.all([textOf(process.stdout), textOf(process.stderr)]);
  assert.equal((await process.status).code, 0, notes);
  return JSON.parse(output).n;
}

function spawn(args: readonly string[], stdin: "null" | "piped" = "null"): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["task", "-q", "svc", ...args],
    cwd: workspacePath("."),
    stdin,
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

function textOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<string> {
  return new Response(stream).text();
}
