/**
 * One role as a process of its own under its own permissions, for tests that judge memory: it and
 * the processes below it are all that is measured.
 */

import assert from "node:assert/strict";
import { makeDataFolders } from "../../cli/data_folders.ts";
import { processArguments, runtimeEnvironment } from "../../cli/permissions.ts";
import { type Role } from "../../cli/role_places.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { memoryBelow, type ProcessMemory } from "../../shared/testing/process_memory.ts";

const READY_MS_MAX = 90_000;

export class RoleProcess implements AsyncDisposable {
  /** Where the role's API is; the compactor has none. */
  readonly url: string;
  readonly #metricsUrl: string;
  readonly #child: Deno.ChildProcess;

  private constructor(role: Role, dataDir: string, args: readonly string[]) {
    const [port, metricsPort, grpcPort] = freePorts(3);
    const at = (free: number | undefined) => `127.0.0.1:${free}`;
    this.url = `http://${at(port)}`;
    this.#metricsUrl = `http://${at(metricsPort)}`;
    this.#child = new Deno.Command(Deno.execPath(), {
      args: processArguments(role, dataDir, [
        ...role === "compactor" ? [] : ["--bind", at(port)],
        ...role === "ingest" ? ["--otlp-grpc-listen", at(grpcPort)] : [],
        ...["--metrics-bind", at(metricsPort)],
        ...args,
      ]),
      env: runtimeEnvironment(role),
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
  }

  /** Waits until it is ready. `args`: further options. */
  static async start(
    role: Role,
    dataDir: string,
    args: readonly string[],
  ): Promise<RoleProcess> {
    await makeDataFolders(dataDir);
    const started = new RoleProcess(role, dataDir, args);
    try {
      await started.#ready(role === "compactor" ? started.#metricsUrl : started.url);
      return started;
    } catch (error) {
      await started[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #ready(url: string): Promise<void> {
    const untilMs = performance.now() + READY_MS_MAX;
    for (;;) {
      const response = await fetch(`${url}/readyz`).catch(() => undefined);
      await response?.body?.cancel();
      if (response?.ok === true) return;
      assert.ok(performance.now() < untilMs, "the process is not ready in time");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Memory of each living process, its own first. */
  memory(): ProcessMemory[] {
    return memoryBelow(this.#child.pid);
  }

  /** Values of `/metrics` whose series begins with `prefix`. */
  async metrics(prefix: string): Promise<Map<string, number>> {
    const page = await (await fetch(`${this.#metricsUrl}/metrics`)).text();
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

/** The answer's status and its text, which is read to its end. */
export async function askSql(
  { url }: Pick<RoleProcess, "url">,
  query: string,
  fields: { readonly format?: string; readonly limits?: Readonly<Record<string, number>> } = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${url}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, ...fields }),
  });
  return { status: response.status, text: await response.text() };
}
