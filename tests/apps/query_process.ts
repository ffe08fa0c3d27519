/**
 * A query server as a process of its own under its own permissions, for tests that judge memory: it
 * and its DuckDB processes are all that is measured.
 */

import assert from "node:assert/strict";
import { makeDataFolders } from "../../cli/data_folders.ts";
import { processArguments } from "../../cli/permissions.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { memoryBelow, type ProcessMemory } from "../../shared/testing/process_memory.ts";

const READY_MS_MAX = 30_000;

export interface QueryFields {
  readonly format?: string;
  readonly limits?: Readonly<Record<string, number>>;
}

export class QueryProcess implements AsyncDisposable {
  readonly #url: string;
  readonly #metricsUrl: string;
  readonly #child: Deno.ChildProcess;

  private constructor(dataDir: string, args: readonly string[]) {
    const [port, metricsPort] = freePorts(2);
    this.#url = `http://127.0.0.1:${port}`;
    this.#metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
    this.#child = new Deno.Command(Deno.execPath(), {
      args: processArguments("query", dataDir, [
        ...["--bind", `127.0.0.1:${port}`, "--metrics-bind", `127.0.0.1:${metricsPort}`],
        ...args,
      ]),
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
  }

  /** Waits until it is ready. `args`: further options. */
  static async start(dataDir: string, args: readonly string[]): Promise<QueryProcess> {
    await makeDataFolders(dataDir);
    const server = new QueryProcess(dataDir, args);
    try {
      await server.#ready();
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #ready(): Promise<void> {
    const untilMs = performance.now() + READY_MS_MAX;
    for (;;) {
      const response = await fetch(`${this.#url}/readyz`).catch(() => undefined);
      await response?.body?.cancel();
      if (response?.ok === true) return;
      assert.ok(performance.now() < untilMs, "the server is not ready in time");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** The answer's status and its text, which is read to its end. */
  async ask(query: string, fields: QueryFields = {}): Promise<{ status: number; text: string }> {
    const response = await fetch(`${this.#url}/api/v1/sql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query, ...fields }),
    });
    return { status: response.status, text: await response.text() };
  }

  /** Memory of each living process, the server first. */
  memory(): ProcessMemory[] {
    return memoryBelow(this.#child.pid);
  }

  /** Values of `/metrics` whose series begins with `prefix`. */
  async metrics(prefix: string): Promise<Map<string, number>> {
    const page = await (await fetch(this.#metricsUrl)).text();
    const lines = page.split("\n").filter((line) => line.startsWith(prefix));
    return new Map(lines.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#child.status;
  }
}
