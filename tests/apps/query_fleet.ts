/**
 * Query servers that share statements, as real processes over one data directory, each under its
 * own permission set and with a cache of its own.
 */

import { makeDataFolders } from "../../cli/data_folders.ts";
import { processArguments } from "../../cli/permissions.ts";
import { present } from "../../shared/base/assert.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { until } from "../../shared/testing/until.ts";
import { YIELD_LITTLE_ENV } from "../../shared/testing/yield_little.ts";

interface FleetServer {
  readonly url: string;
  readonly metricsUrl: string;
  readonly address: string;
  readonly start: () => Deno.ChildProcess;
  process: Deno.ChildProcess;
  stderr: Promise<string>;
}

export interface FleetOptions {
  readonly dataDir: string;
  readonly count: number;
  /** Further options of each server. */
  readonly args?: readonly string[];
  /** Where peers find the server that listens at an address; default: there. */
  readonly doorOf?: (address: string) => string;
  /** PEM text of the certificate that the servers have; default: they have none. */
  readonly tls?: string;
  /** A caller's, where the servers want one. */
  readonly token?: string;
  /** Further variables of a server. */
  readonly envOf?: (at: number) => Readonly<Record<string, string>>;
}

const READY_MS = 60_000;

export class QueryFleet implements AsyncDisposable {
  private constructor(
    readonly servers: readonly FleetServer[],
    /** Knows the servers' certificate; undefined: they have none. */
    readonly client: Deno.HttpClient | undefined,
    private readonly token: string | undefined,
  ) {}

  /** Starts them, and waits until each has greeted all others. */
  static async start(options: FleetOptions): Promise<QueryFleet> {
    const { dataDir, count, args = [], doorOf = (address) => address, tls } = options;
    await makeDataFolders(dataDir);
    const ports = freePorts(2 * count);
    const addresses = ports.slice(0, count).map((port) => `127.0.0.1:${port}`);
    const peers = addresses.map(doorOf).join(",");
    const servers = addresses.map((address, at) => {
      const env = { ...YIELD_LITTLE_ENV, ...options.envOf?.(at) };
      const metrics = `127.0.0.1:${ports[count + at]}`;
      const own = [
        ...["--bind", address, "--metrics-bind", metrics, "--cache-dir", `cache-${count}-${at}`],
        ...["--peers", peers, "--audit-disabled", ...args],
      ];
      const start = () => {
        return new Deno.Command(Deno.execPath(), {
          args: processArguments("query", dataDir, own, env),
          env,
          stdout: "null",
          stderr: "piped",
        }).spawn();
      };
      const process = start();
      return {
        ...{ address, start, process, stderr: errorsOf(process) },
        url: `${tls === undefined ? "http" : "https"}://${address}`,
        metricsUrl: `http://${metrics}/metrics`,
      };
    });
    const client = tls === undefined ? undefined : Deno.createHttpClient({ caCerts: [tls] });
    const fleet = new QueryFleet(servers, client, options.token);
    try {
      await fleet.ready();
    } catch (error) {
      const told = await fleet.#stop();
      throw new Error(`servers were not ready: ${told.join("\n")}`, { cause: error });
    }
    return fleet;
  }

  at(index: number): FleetServer {
    return present(this.servers[index], "a server");
  }

  /** Waits until each server takes statements, and knows `count` others that take shards. */
  async ready(count = this.servers.length - 1, of = this.servers): Promise<void> {
    for (const { url } of of) {
      await until(async () => {
        const init = {
          ...(this.client === undefined ? {} : { client: this.client }),
          headers: this.token === undefined ? {} : { authorization: `Bearer ${this.token}` },
        };
        const response = await fetch(`${url}/debug/peers`, init).catch(() => undefined);
        if (response?.ok !== true) {
          await response?.body?.cancel();
          return false;
        }
        const { peers } = await response.json() as { peers: readonly { state: string }[] };
        const ready = await fetch(`${url}/readyz`, init);
        await ready.body?.cancel();
        return ready.ok && peers.filter(({ state }) => state === "ready").length === count;
      }, { msMax: READY_MS, pollMs: 100 });
    }
  }

  signal(index: number, signal: Deno.Signal): void {
    this.at(index).process.kill(signal);
  }

  /** Starts a server anew that was killed. */
  async restart(index: number): Promise<void> {
    const server = this.at(index);
    await server.process.status;
    await server.stderr;
    server.process = server.start();
    server.stderr = errorsOf(server.process);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
    this.client?.close();
  }

  #stop(): Promise<string[]> {
    return Promise.all(this.servers.map(async ({ process, stderr }) => {
      try {
        process.kill("SIGCONT");
        process.kill("SIGKILL");
      } catch { /* It has ended. */ }
      await process.status;
      return await stderr;
    }));
  }
}

function errorsOf(process: Deno.ChildProcess): Promise<string> {
  return new Response(process.stderr).text();
}
