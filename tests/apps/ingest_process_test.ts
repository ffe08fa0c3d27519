/**
 * The ingest server as a process: what it says and how it exits when it cannot start, and how it
 * ends.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { until } from "../../shared/testing/until.ts";
import { storedRows } from "../clients/running_ingest.ts";

const MAIN = new URL("../../ingest/main.ts", import.meta.url).pathname;
/** Sources of the thread that packs rows; without them the server says that it does so itself. */
const SHARED = new URL("../../shared/", import.meta.url).pathname;
const LINE_MS_MAX = 90_000;

interface Ended {
  readonly code: number;
  readonly lines: readonly string[];
}

/**
 * Runs `ingest/main.ts` below `dataDir`, until it exits or `body` returns, which ends it with
 * SIGTERM.
 */
class IngestProcess implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";

  constructor(dataDir: string, options: { bind?: string; write?: string } = {}) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-prompt",
        "--allow-net=127.0.0.1",
        `--allow-read=${dataDir},${SHARED}`,
        `--allow-write=${options.write ?? dataDir}`,
        "--allow-env=SVC_*",
        "--allow-sys=statfs",
        MAIN,
        `--data-dir=${dataDir}`,
        `--bind=${options.bind ?? "127.0.0.1:0"}`,
        "--metrics-bind=127.0.0.1:0",
        "--otlp-grpc-listen=127.0.0.1:0",
      ],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#reader = this.#child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** The port it listens on, from its first log line. */
  async port(): Promise<number> {
    const timer = setTimeout(() => this.#kill("SIGKILL"), LINE_MS_MAX);
    try {
      for (;;) {
        const match = /listens on 127\.0\.0\.1:(\d+)/.exec(this.#text);
        if (match !== null) return Number(match[1]);
        const { done, value } = await this.#reader.read();
        if (done) throw new Error(`it ended instead of listening:\n${this.#text}`);
        this.#text += value;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits for the exit, by itself or after `signal`. */
  async ended(signal?: Deno.Signal): Promise<Ended> {
    if (signal !== undefined) this.#kill(signal);
    const timer = setTimeout(() => this.#kill("SIGKILL"), LINE_MS_MAX);
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) break;
      this.#text += value;
    }
    const { code } = await this.#child.status;
    clearTimeout(timer);
    return { code, lines: this.#text.split("\n").filter((line) => line !== "") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill("SIGKILL");
    await this.#reader.cancel();
    await this.#child.status;
  }

  #kill(signal: Deno.Signal): void {
    try {
      this.#child.kill(signal);
    } catch (error) {
      // It has ended already.
      if (!(error instanceof TypeError)) throw error;
    }
  }
}

async function withDataDir(body: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "svc-ingest-process-" });
  try {
    await body(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** Exit code 1 and one line on stderr that matches all of `parts`. */
async function assertRefused(process: IngestProcess, parts: readonly RegExp[]): Promise<void> {
  const { code, lines } = await process.ended();
  assert.equal(lines.length, 1, lines.join("\n"));
  for (const part of parts) assert.match(lines[0] ?? "", part);
  assert.equal(code, 1);
}

Deno.test({
  name: "ingest/main.ts exits 1 with one line naming the address when its port is in use",
  fn: () =>
    withDataDir(async (dataDir) => {
      using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
      const bind = `127.0.0.1:${taken.addr.port}`;
      await using process = new IngestProcess(dataDir, { bind });
      await assertRefused(process, [new RegExp(`cannot listen on ${bind}`), /in use/, /--bind/]);
    }),
});

Deno.test({
  name: "ingest/main.ts exits 1 with one line naming the directory when a file stands in its place",
  fn: () =>
    withDataDir(async (dataDir) => {
      await Deno.writeTextFile(join(dataDir, "wal"), "not a directory");
      await using process = new IngestProcess(dataDir);
      await assertRefused(process, [new RegExp(`${dataDir}/wal`)]);
      assert.equal(await Deno.readTextFile(join(dataDir, "wal")), "not a directory");
    }),
});

Deno.test({
  name: "ingest/main.ts exits 1 with one line naming the directory when it may not write there",
  fn: () =>
    withDataDir(async (dataDir) => {
      await using process = new IngestProcess(dataDir, { write: "/nonexistent" });
      await assertRefused(process, [new RegExp(`${dataDir}/wal`)]);
    }),
});

Deno.test({
  name: "a second ingest/main.ts on the same WAL exits 1 and the first keeps storing",
  fn: () =>
    withDataDir(async (dataDir) => {
      await using first = new IngestProcess(dataDir);
      const port = await first.port();
      await using second = new IngestProcess(dataDir);
      await assertRefused(second, [new RegExp(`${dataDir}/wal`)]);
      assert.equal(await postOne(port, "still here"), 200);
      assert.equal((await first.ended("SIGTERM")).code, 0);
    }),
});

Deno.test({
  name: "ingest/main.ts ends with 0 on SIGTERM under load: what it acknowledged is sealed, once",
  fn: () =>
    withDataDir(async (dataDir) => {
      await using process = new IngestProcess(dataDir);
      const port = await process.port();
      const acknowledged: string[] = [];
      const senders = Array.from({ length: 4 }, async (_, sender) => {
        for (let turn = 0;; turn++) {
          const body = `${sender}-${turn}`;
          const status = await postOne(port, body).catch(() => undefined);
          if (status === undefined) return; // It does not listen any more.
          assert.equal(status, 200);
          acknowledged.push(body);
        }
      });
      await until(() => acknowledged.length >= 20);
      const { code, lines } = await process.ended("SIGTERM");
      await Promise.all(senders);
      assert.equal(code, 0, lines.join("\n"));
      assert.ok(acknowledged.length > 0);
      assert.deepEqual([...Deno.readDirSync(join(dataDir, "wal/default/events/active"))], []);
      const stored = (await storedRows(dataDir)).map((row) => row.columns.raw ?? "");
      assert.equal(new Set(stored).size, stored.length);
      const known = new Set(stored);
      assert.deepEqual(acknowledged.filter((body) => !known.has(body)), []);
    }),
});

async function postOne(port: number, body: string): Promise<number> {
  const logRecords = [{ timeUnixNano: "1763000000000000000", body: { stringValue: body } }];
  const response = await fetch(`http://127.0.0.1:${port}/v1/logs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
  });
  await response.body?.cancel();
  return response.status;
}
