/**
 * The three roles as real processes, each under its own permission set, on free ports over a
 * temporary data directory: for tests that kill, restart and query them.
 */

import { makeDataFolders } from "../../cli/data_folders.ts";
import { processArguments } from "../../cli/permissions.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { ONE_DUCKDB_ENV } from "../../shared/testing/one_duckdb.ts";
import { threads } from "../../shared/testing/threads.ts";

export type RoleName = "ingest" | "compactor" | "query";

export interface StackOptions {
  /** `--wal-max-age-secs`. */
  readonly rollAgeSecs?: number;
  /** `--catalog-uri` of every role. */
  readonly catalogUri?: string;
  /** `--warehouse-url` of every role. */
  readonly warehouseUrl?: string;
  /** Variables of every role, beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** An empty folder that stays; a temporary one when absent. */
  readonly dataDir?: string;
  /** Further options of the ingest server. */
  readonly ingestArgs?: readonly string[];
  /** Further options of the query server. */
  readonly queryArgs?: readonly string[];
  /**
   * Whether the query server keeps its audit; default no: that takes half a second of processor
   * time, and more when it ends.
   */
  readonly audit?: boolean;
  /** Further options of the compactor. */
  readonly compactorArgs?: readonly string[];
  /** How long a role may take until it is ready; default 30 s. */
  readonly readyMsMax?: number;
  /** What starts a role's process: a command that runs the one behind it. */
  readonly launchers?: Readonly<Partial<Record<RoleName, readonly string[]>>>;
  /** Where a role listens; 127.0.0.1 when absent. */
  readonly addresses?: Readonly<Partial<Record<RoleName, string>>>;
}

export interface SqlAnswer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

interface RunningRole {
  readonly process: Deno.ChildProcess;
  /** All of stderr, once the process has ended. */
  readonly stderr: Promise<string>;
  /** What stderr had so far. */
  said: string;
  ended: boolean;
}

const READY_DEADLINE_MS = 90_000;
const STOP_DEADLINE_MS = 10_000;
const REQUEST_DEADLINE_MS = 60_000;

export class Stack implements AsyncDisposable {
  readonly #running = new Map<RoleName, RunningRole>();
  readonly #arguments: Readonly<Record<RoleName, readonly string[]>>;
  readonly #health: Readonly<Record<RoleName, string>>;
  readonly ingestUrl: string;
  readonly queryUrl: string;
  readonly ingestMetricsUrl: string;
  readonly compactorMetricsUrl: string;
  readonly queryMetricsUrl: string;
  /** `host:port` of OTLP/gRPC. */
  readonly grpcTarget: string;

  readonly #env: Readonly<Record<string, string>>;
  readonly #keepsData: boolean;
  readonly #readyMsMax: number;
  readonly #launchers: Readonly<Partial<Record<RoleName, readonly string[]>>>;

  private constructor(readonly dataDir: string, options: StackOptions) {
    this.#env = { ...ONE_DUCKDB_ENV, ...options.env };
    this.#keepsData = options.dataDir !== undefined;
    this.#readyMsMax = options.readyMsMax ?? READY_DEADLINE_MS;
    this.#launchers = options.launchers ?? {};
    const ports = freePorts(6);
    const at = (role: RoleName, index: number) =>
      `${options.addresses?.[role] ?? "127.0.0.1"}:${ports[index]}`;
    const ingest = { http: at("ingest", 0), metrics: at("ingest", 2), grpc: at("ingest", 5) };
    const query = { http: at("query", 1), metrics: at("query", 4) };
    const compactor = { metrics: at("compactor", 3) };
    this.ingestUrl = `http://${ingest.http}`;
    this.queryUrl = `http://${query.http}`;
    this.ingestMetricsUrl = `http://${ingest.metrics}/metrics`;
    this.compactorMetricsUrl = `http://${compactor.metrics}/metrics`;
    this.queryMetricsUrl = `http://${query.metrics}/metrics`;
    this.grpcTarget = ingest.grpc;
    this.#health = {
      ingest: `${this.ingestUrl}/readyz`,
      query: `${this.queryUrl}/readyz`,
      compactor: `http://${compactor.metrics}/healthz`,
    };
    const age = String(options.rollAgeSecs ?? 5);
    const storage = [
      ...(options.catalogUri === undefined ? [] : ["--catalog-uri", options.catalogUri]),
      ...(options.warehouseUrl === undefined ? [] : ["--warehouse-url", options.warehouseUrl]),
    ];
    this.#arguments = {
      ingest: [
        ...["--bind", ingest.http, "--metrics-bind", ingest.metrics],
        ...["--otlp-grpc-listen", ingest.grpc],
        ...["--wal-max-age-secs", age],
        ...storage,
        ...(options.ingestArgs ?? []),
      ],
      compactor: [
        ...["--metrics-bind", compactor.metrics],
        ...storage,
        ...(options.compactorArgs ?? []),
      ],
      query: [
        ...["--bind", query.http, "--metrics-bind", query.metrics],
        ...["--ingest-metrics-url", this.ingestMetricsUrl],
        ...["--compactor-metrics-url", this.compactorMetricsUrl],
        ...storage,
        ...(options.audit === true ? [] : ["--audit-disabled"]),
        ...(options.queryArgs ?? []),
      ],
    };
  }

  /** None of its roles runs, nor has it a folder. The ports stay as they are. */
  static unstarted(dataDir: string, options: StackOptions): Stack {
    return new Stack(dataDir, { ...options, dataDir });
  }

  /** Starts all three and waits until each is ready. */
  static async start(options: StackOptions = {}): Promise<Stack> {
    const dataDir = options.dataDir ?? await Deno.makeTempDir({ prefix: "svc-stack-" });
    const stack = new Stack(dataDir, options);
    try {
      await makeDataFolders(stack.dataDir);
      for (const role of ["ingest", "compactor", "query"] as const) await stack.ensure(role);
      return stack;
    } catch (error) {
      await stack[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts `role` unless it runs, and waits until it is ready. */
  async ensure(role: RoleName): Promise<void> {
    if (!this.#running.has(role)) this.#running.set(role, this.#spawn(role));
    const signal = AbortSignal.timeout(this.#readyMsMax);
    while (!signal.aborted && this.#running.get(role)?.ended === false) {
      const response = await fetch(this.#health[role], { signal }).catch(() => undefined);
      await response?.body?.cancel();
      if (response?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const threads = await threadsOf(this.#running.get(role)?.process.pid ?? 0);
    const stderr = await this.kill(role);
    throw new Error(
      `${role} ended or was not ready in ${this.#readyMsMax} ms; it said:\n${stderr}\n${threads}`,
    );
  }

  /** What a role that runs has written to stderr so far. */
  said(role: RoleName): string {
    return this.#running.get(role)?.said ?? "";
  }

  /** SIGKILL; returns what the process had written to stderr. */
  kill(role: RoleName): Promise<string> {
    return this.#end(role, "SIGKILL");
  }

  /** Sends a signal that ends nothing, as SIGSTOP and SIGCONT, to a role that runs. */
  signal(role: RoleName, signal: Deno.Signal): void {
    const running = this.#running.get(role);
    if (running !== undefined) killIfAlive(running.process, signal);
  }

  /** SIGTERM, then SIGKILL past a deadline; returns stderr. */
  stop(role: RoleName): Promise<string> {
    return this.#end(role, "SIGTERM");
  }

  /** Sends one OTLP/JSON record per body; whether the server acknowledged them. */
  async sendLogs(bodies: readonly string[], options: { commit: string }): Promise<boolean> {
    const logRecords = bodies.map((body) => ({
      timeUnixNano: `${Date.now()}000000`,
      body: { stringValue: body },
    }));
    try {
      const response = await fetch(`${this.ingestUrl}/v1/logs?commit=${options.commit}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
        signal: AbortSignal.timeout(REQUEST_DEADLINE_MS),
      });
      await response.body?.cancel();
      return response.status === 200;
    } catch {
      return false;
    }
  }

  /** A records response; an error answer throws `<status> <body>`. */
  async sql(query: string, fields: Readonly<Record<string, unknown>> = {}): Promise<SqlAnswer> {
    const response = await fetch(`${this.queryUrl}/api/v1/sql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query, ...fields }),
      signal: AbortSignal.timeout(REQUEST_DEADLINE_MS),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${text}`);
    return JSON.parse(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const role of ["ingest", "query", "compactor"] as const) await this.stop(role);
    if (!this.#keepsData) await Deno.remove(this.dataDir, { recursive: true });
  }

  #spawn(role: RoleName): RunningRole {
    const args = processArguments(role, this.dataDir, this.#arguments[role], this.#env);
    const [command = "", ...first] = [...this.#launchers[role] ?? [], Deno.execPath()];
    const process = new Deno.Command(command, {
      args: [...first, ...args],
      env: this.#env,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const running: RunningRole = {
      process,
      stderr: Promise.resolve().then(() => heard(process.stderr, running)),
      said: "",
      ended: false,
    };
    process.status.then(() => running.ended = true);
    return running;
  }

  async #end(role: RoleName, signal: Deno.Signal): Promise<string> {
    const running = this.#running.get(role);
    if (running === undefined) return "";
    this.#running.delete(role);
    killIfAlive(running.process, signal);
    const timer = setTimeout(() => killIfAlive(running.process, "SIGKILL"), STOP_DEADLINE_MS);
    await running.process.status;
    clearTimeout(timer);
    return await running.stderr;
  }
}

/** Reads a process's stderr to its end, and keeps what came so far. */
async function heard(
  stderr: ReadableStream<Uint8Array<ArrayBuffer>>,
  running: RunningRole,
): Promise<string> {
  for await (const text of stderr.pipeThrough(new TextDecoderStream())) running.said += text;
  return running.said;
}

/**
 * Name, state and where in the kernel each thread of a process waits: all that is known of one that
 * says nothing.
 */
async function threadsOf(pid: number): Promise<string> {
  const lines: string[] = [];
  try {
    for await (const { id, name, state } of threads(pid)) {
      const place = await Deno.readTextFile(`/proc/${pid}/task/${id}/wchan`).catch(() => "");
      lines.push(`${id} (${name}) ${state} ${place}`);
    }
  } catch {
    // It ended, or this is no Linux.
  }
  return lines.join("\n");
}

function killIfAlive(process: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    process.kill(signal);
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof Deno.errors.NotFound)) throw error;
  }
}
