/**
 * Roles that may open 1,024 files (the usual limit), under their own permissions. Somebody opens as
 * many connections as there are descriptors and says nothing, or half of a request.
 */

import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { makeDataFolders } from "../../cli/data_folders.ts";
import { processArguments } from "../../cli/permissions.ts";
import { type Role } from "../../cli/role_places.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { YIELD_LITTLE_ENV } from "../../shared/testing/yield_little.ts";

const DESCRIPTORS = 1_024;
const SILENT = 1_021;
const READY_MS_MAX = 90_000;
const ANSWER_MS_MAX = 10_000;
/** `HTTP1_LIMITS.headMsMax`, and what a busy machine takes. */
const HEAD_MS_MAX = 10_000 + 15_000;

/** A role in a process of its own with `DESCRIPTORS` descriptors. */
class FewFiles implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #stderr: Promise<string>;

  private constructor(readonly ports: readonly number[], child: Deno.ChildProcess) {
    this.#child = child;
    this.#stderr = child.stderr.text();
  }

  static async start(role: Role, dataDir: string, more: readonly string[] = []): Promise<FewFiles> {
    const ports = freePorts(3);
    const options = { ingest: "--bind", query: "--bind", compactor: undefined }[role];
    const args = [
      `--metrics-bind=127.0.0.1:${ports[0]}`,
      ...(options === undefined ? [] : [`${options}=127.0.0.1:${ports[1]}`]),
      ...(role === "ingest" ? [`--otlp-grpc-listen=127.0.0.1:${ports[2]}`] : []),
      ...more,
    ];
    const child = new Deno.Command("sh", {
      args: [
        ...["-c", `ulimit -n ${DESCRIPTORS} && exec "$0" "$@"`, Deno.execPath()],
        ...processArguments(role, dataDir, args),
      ],
      env: YIELD_LITTLE_ENV,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const server = new FewFiles(ports, child);
    await server.#ready(role === "compactor" ? 0 : 1);
    return server;
  }

  url(listener: 0 | 1, path: string): string {
    return `http://127.0.0.1:${this.ports[listener]}${path}`;
  }

  async #ready(listener: 0 | 1): Promise<void> {
    const untilMs = performance.now() + READY_MS_MAX;
    while (performance.now() < untilMs) {
      const answer = await fetch(this.url(listener, "/readyz")).catch(() => undefined);
      await answer?.body?.cancel();
      if (answer?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    this.#child.kill("SIGKILL");
    assert.fail(`not ready: ${await this.#stderr}`);
  }

  async metric(series: string): Promise<number> {
    const page = await (await fetch(this.url(0, "/metrics"), patient())).text();
    const line = page.split("\n").find((line) => line.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1));
  }

  /** Ends it; what it said, and how it exited. */
  async end(): Promise<{ code: number; said: string }> {
    this.#child.kill("SIGTERM");
    const { code } = await this.#child.status;
    return { code, said: await this.#stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGTERM");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    await this.#child.status;
    await this.#stderr;
  }
}

function patient(): RequestInit {
  return { signal: AbortSignal.timeout(ANSWER_MS_MAX), headers: { connection: "close" } };
}

/** Many connections, each of which says `text` and no more. */
class Crowd implements Disposable {
  readonly #sockets: Socket[] = [];
  readonly #heard: string[] = [];
  #ended = 0;

  static async of(port: number, { count = SILENT, text = "" } = {}): Promise<Crowd> {
    const crowd = new Crowd();
    for (let opened = 0; opened < count; opened += 100) {
      const batch = Math.min(100, count - opened);
      await Promise.all(Array.from({ length: batch }, () => crowd.#open(port, text)));
    }
    return crowd;
  }

  #open(port: number, text: string): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect({ port, host: "127.0.0.1" }, () => {
        if (text !== "") socket.write(text);
        resolve();
      });
      this.#sockets.push(socket);
      socket.on("data", (data) => this.#heard.push(String(data)));
      // A connection past a bound is closed at once.
      socket.on("error", () => resolve());
      socket.on("close", () => this.#ended += 1);
    });
  }

  /** Waits until the server has ended them all; what it said. */
  async ended(): Promise<readonly string[]> {
    const untilMs = performance.now() + HEAD_MS_MAX;
    while (this.#ended < this.#sockets.length) {
      assert.ok(performance.now() < untilMs, `${this.#ended} of ${this.#sockets.length} ended`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return this.#heard;
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** A request from an address of its own. */
function fromElsewhere(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let heard = "";
    const socket = connect({ port, host: "127.0.0.1", localAddress: "127.0.0.2" });
    const timer = setTimeout(() => socket.destroy(new Error("no answer")), ANSWER_MS_MAX);
    socket.on("connect", () => socket.write(text));
    socket.on("data", (data) => heard += String(data));
    socket.on("error", reject);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(heard);
    });
  });
}

async function withFolders(use: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "svc-descriptors-" });
  try {
    await makeDataFolders(dataDir);
    await use(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

const LOG = JSON.stringify({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "still here" } }] }] }],
});
const AS_JSON = { "content-type": "application/json" };

/** What each role is there for. */
const WORKS: Readonly<Record<Role, (server: FewFiles) => Promise<void>>> = {
  ingest: async (server) => {
    const answer = await fetch(server.url(1, "/v1/logs"), {
      ...{ method: "POST", headers: AS_JSON, body: LOG },
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
  },
  query: async (server) => {
    const answer = await fetch(server.url(1, "/api/v1/sql"), {
      ...{ method: "POST", headers: AS_JSON, body: JSON.stringify({ query: "SELECT 42 AS n" }) },
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    assert.match(await answer.text(), /42/);
  },
  compactor: async (server) => {
    const answer = await fetch(server.url(0, "/readyz"), patient());
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
  },
};

for (const role of ["ingest", "query", "compactor"] as const) {
  Deno.test({
    name:
      `${role} with ${DESCRIPTORS} descriptors works on, and serves /metrics, under ${SILENT} silent ` +
      "connections to its metrics port",
    fn: () =>
      withFolders(async (dataDir) => {
        await using server = await FewFiles.start(role, dataDir);
        using _crowd = await Crowd.of(server.ports[0] ?? 0);
        await WORKS[role](server);
        assert.ok(await server.metric('svc_http_connections{listener="metrics"}') <= 64 + 1);
        assert.ok(
          await server.metric('svc_http_connections_evicted_total{listener="metrics"}') > 900,
        );
        const { code, said } = await server.end();
        assert.equal(code, 0, said);
        assert.doesNotMatch(said, /cannot accept|panic|Uncaught/);
      }),
  });
}

Deno.test({
  name:
    `ingest with ${DESCRIPTORS} descriptors says at its start how many connections it takes, and the remedy`,
  fn: () =>
    withFolders(async (dataDir) => {
      await using server = await FewFiles.start("ingest", dataDir);
      const { said } = await server.end();
      assert.match(said, /too few for the 16384 connections of --max-connections.*LimitNOFILE=/s);
    }),
});

Deno.test({
  name:
    "half-sent heads on every listener end with 408 or in silence, and keep no other address from ingest",
  fn: () =>
    withFolders(async (dataDir) => {
      await using server = await FewFiles.start("ingest", dataDir);
      const text = "POST /v1/logs HTTP/1.1\r\nhost: x\r\nx-slow: ";
      const [metricsPort = 0, port = 0, grpcPort = 0] = server.ports;
      using metrics = await Crowd.of(metricsPort, { count: 60, text });
      using grpc = await Crowd.of(grpcPort, { count: 300, text: "PRI * HTTP/2.0\r\n" });
      using http = await Crowd.of(port, { count: 300, text });
      const head = `POST /v1/logs HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n` +
        `content-type: application/json\r\ncontent-length: ${LOG.length}\r\n\r\n`;
      assert.match(await fromElsewhere(port, head + LOG), /^HTTP\/1\.1 200 /);
      assert.ok((await metrics.ended()).every((heard) => heard.startsWith("HTTP/1.1 408 ")));
      const heard = await http.ended();
      assert.ok(heard.length > 50 && heard.every((text) => text.startsWith("HTTP/1.1 408 ")));
      await grpc.ended();
      const refused = 'svc_http_connections_refused_total{listener="http",reason="address_full"}';
      assert.ok(await server.metric(refused) > 200);
      await WORKS.ingest(server);
    }),
});
