/**
 * Many connections on one ingest process: 10,000 that do nothing more, 500 that send, some that
 * send slowly and some that stop in the middle of a body. Everything is on loopback; each request
 * is written to a socket of its own, so that the number of connections is what it says. `deno test
 * -A tests/load/connections_test.ts -- --figures` tells what was measured.
 */

import assert from "node:assert/strict";
import { makeDataFolders } from "../../cli/data_folders.ts";
import { processArguments } from "../../cli/permissions.ts";
import { storedRows } from "../clients/running_ingest.ts";
import { Connection, headOf } from "../apps/raw_connection.ts";

const IDLE = 10_000;
const ACTIVE = 500;
const REQUESTS_EACH = 6;
const SLOW = 100;
const HALF_SENT = 100;
const HALF_ANNOUNCED_BYTES = 1024 * 1024;
const HALF_SENT_BYTES = 256 * 1024;
const OPENED_AT_ONCE = 100;
const CONNECTIONS = IDLE + ACTIVE + SLOW + HALF_SENT;

/** Resident memory that may come on top of what the process has without connections, in bytes. */
const GROWTH_BYTES_MAX = 512 * 1024 * 1024;
/** An ordinary sender beside all that. */
const ANSWER_MS_MAX = 5_000;
const START_MS_MAX = 30_000;

const encoder = new TextEncoder();

function rowOf(text: string): Uint8Array {
  const logRecords = [{ timeUnixNano: "1763000000000000000", body: { stringValue: text } }];
  return encoder.encode(JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }));
}

function logsHead(contentBytes: number): Uint8Array {
  return headOf("/v1/logs", contentBytes, { "content-type": "application/json" });
}

async function post(connection: Connection, body: Uint8Array): Promise<number> {
  await connection.write(logsHead(body.byteLength));
  await connection.write(body);
  return await connection.status();
}

async function openMany(port: number, count: number): Promise<Connection[]> {
  const open: Connection[] = [];
  while (open.length < count) {
    const batch = Math.min(OPENED_AT_ONCE, count - open.length);
    open.push(...await Promise.all(Array.from({ length: batch }, () => Connection.open(port))));
  }
  return open;
}

/** The ingest role under its own permissions, with what it says on stderr. */
class IngestProcess implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #said: Promise<void>;
  readonly port: Promise<number>;

  constructor(readonly dataDir: string) {
    const listeners = ["--bind", "--metrics-bind", "--otlp-grpc-listen"];
    this.#child = new Deno.Command(Deno.execPath(), {
      args: processArguments("ingest", dataDir, [
        ...listeners.map((flag) => `${flag}=127.0.0.1:0`),
        "--max-connections-per-address=0",
      ]),
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.port = promise;
    this.#said = this.#read(resolve).catch(reject);
  }

  async #read(listening: (port: number) => void): Promise<void> {
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), START_MS_MAX);
    let text = "";
    for await (const part of this.#child.stderr.pipeThrough(new TextDecoderStream())) {
      text += part;
      const port = /listens on 127\.0\.0\.1:(\d+)/.exec(text)?.[1];
      if (port === undefined) continue;
      clearTimeout(timer);
      listening(Number(port));
    }
    clearTimeout(timer);
    if (!/listens on/.test(text)) throw new Error(`it ended instead of listening:\n${text}`);
  }

  /** Resident bytes now, and the most there ever were. */
  async memory(): Promise<{ now: number; most: number }> {
    const status = await Deno.readTextFile(`/proc/${this.#child.pid}/status`);
    const kib = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]);
    return { now: kib("VmRSS") * 1024, most: kib("VmHWM") * 1024 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#child.status;
    await this.#said;
  }
}

/**
 * Open files that this process, and so its child, may have; the runtime raises it to the hard
 * limit.
 */
async function filesMax(): Promise<number> {
  const limits = await Deno.readTextFile("/proc/self/limits").catch(() => "");
  return Number(/Max open files\s+(\d+)/.exec(limits)?.[1] ?? 0);
}

const NAME =
  `ingest with ${IDLE} idle and ${ACTIVE} sending connections, slow ones and broken ones`;
const FILES_NEEDED = CONNECTIONS + 500;
const HAS_FILES = await filesMax() >= FILES_NEEDED;

/** Sends 16 bytes ten times a second; returns the row once it is acknowledged. */
async function sendSlowly(connection: Connection, text: string): Promise<string> {
  const body = rowOf(text);
  await connection.write(logsHead(body.byteLength));
  for (let sent = 0; sent < body.byteLength; sent += 16) {
    await connection.write(body.subarray(sent, sent + 16));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.equal(await connection.status(), 200);
  return text;
}

/**
 * One request after the other; returns the rows, all acknowledged, and the slowest answer's time.
 */
async function sendMany(connection: Connection, name: string, count: number) {
  const rows: string[] = [];
  let slowestMs = 0;
  for (let turn = 0; turn < count; turn++) {
    const text = `${name} ${turn}`;
    const begunMs = performance.now();
    assert.equal(await post(connection, rowOf(text)), 200);
    slowestMs = Math.max(slowestMs, performance.now() - begunMs);
    rows.push(text);
  }
  return { rows, slowestMs };
}

/**
 * Loads the server with all kinds of connections at once; returns the rows that it acknowledged.
 */
async function crowd(server: IngestProcess): Promise<string[]> {
  const port = await server.port;
  using first = await Connection.open(port);
  const warm = await sendMany(first, "warm", 50);
  const before = await server.memory();

  using held = new DisposableStack();
  const open = async (count: number) => {
    const connections = await openMany(port, count);
    for (const connection of connections) held.use(connection);
    return connections;
  };
  const get = encoder.encode("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
  for (let count = 0; count < IDLE; count += OPENED_AT_ONCE) {
    // The server closes one that sends no request for 10 s: each batch asks before the next opens.
    await Promise.all((await open(OPENED_AT_ONCE)).map(async (connection) => {
      await connection.write(get);
      assert.equal(await connection.status(), 200);
    }));
  }
  for (const connection of await open(HALF_SENT)) {
    await connection.write(logsHead(HALF_ANNOUNCED_BYTES));
    await connection.write(new Uint8Array(HALF_SENT_BYTES).fill(0x20));
  }
  const slow = (await open(SLOW)).map((connection, at) => sendSlowly(connection, `slow ${at}`));
  const active = (await open(ACTIVE))
    .map((connection, at) => sendMany(connection, `active ${at}`, REQUESTS_EACH));
  const beside = await sendMany(first, "beside", 20);
  const sent = [warm, beside, ...await Promise.all(active)];
  const slowRows = await Promise.all(slow);

  const after = await server.memory();
  const slowestMs = Math.max(...sent.map((sender) => sender.slowestMs));
  const mib = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`;
  const measured =
    `resident ${mib(before.now)} before, at most ${mib(after.most)}; slowest answer ` +
    `${slowestMs.toFixed(0)} ms, to the one beside ${beside.slowestMs.toFixed(0)} ms`;
  assert.ok(after.most - before.now < GROWTH_BYTES_MAX, measured);
  assert.ok(slowestMs < ANSWER_MS_MAX, measured);
  if (Deno.args.includes("--figures")) await Deno.writeTextFile("/dev/stderr", `${measured}\n`);
  return [...sent.flatMap((sender) => sender.rows), ...slowRows];
}

Deno.test({
  name: HAS_FILES ? NAME : `${NAME} (needs ${FILES_NEEDED} open files)`,
  ignore: !HAS_FILES,
  fn: async () => {
    const dataDir = await Deno.makeTempDir({ prefix: "svc-connections-" });
    await makeDataFolders(dataDir);
    try {
      const acknowledged = await withProcess(dataDir, crowd);
      const stored = (await storedRows(dataDir)).map((row) => row.columns.raw ?? "");
      assert.deepEqual(stored.toSorted(), acknowledged.toSorted());
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});

async function withProcess<T>(dataDir: string, use: (server: IngestProcess) => Promise<T>) {
  await using server = new IngestProcess(dataDir);
  return await use(server);
}
