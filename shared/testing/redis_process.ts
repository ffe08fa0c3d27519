/**
 * A real `redis-server` of a test's own, on a free port, without a disk; it can freeze, die and
 * come back.
 */

import { freePort } from "./free_ports.ts";

export const REDIS_SERVER = findRedisServer();

export class RedisProcess implements AsyncDisposable {
  readonly #folder: string;
  readonly port: number;
  #process: Deno.ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.port = port;
  }

  static async start(): Promise<RedisProcess> {
    const folder = await Deno.makeTempDir({ prefix: "svc-redis-" });
    const redis = new RedisProcess(folder, freePort());
    await redis.resume();
    return redis;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts it on its port, with no keys. */
  async resume(): Promise<void> {
    if (REDIS_SERVER === undefined) throw new Error("redis-server is not installed");
    this.#process = new Deno.Command(REDIS_SERVER, {
      args: ["--port", `${this.port}`, "--bind", "127.0.0.1", "--save", "", "--dir", this.#folder],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await this.#listening();
  }

  async kill(): Promise<void> {
    this.#process?.kill("SIGKILL");
    await this.#process?.status;
    this.#process = undefined;
  }

  /** Connections stay open and nothing answers. */
  freeze(): void {
    this.#process?.kill("SIGSTOP");
  }

  thaw(): void {
    this.#process?.kill("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.#folder, { recursive: true });
  }

  /** Sends one inline command and reads the first bytes of its answer. */
  async command(line: string): Promise<string> {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
    await connection.write(new TextEncoder().encode(`${line}\r\n`));
    const answer = new Uint8Array(65_536);
    const length = await connection.read(answer);
    return new TextDecoder().decode(answer.subarray(0, length ?? 0));
  }

  async #listening(): Promise<void> {
    for (let tries = 0; tries < 200; tries++) {
      const answer = await this.command("PING").catch(() => "");
      if (answer.startsWith("+PONG")) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error("redis-server did not begin to listen within 5 s");
  }
}

function findRedisServer(): string | undefined {
  for (const folder of (Deno.env.get("PATH") ?? "").split(":")) {
    try {
      if (Deno.statSync(`${folder}/redis-server`).isFile) return `${folder}/redis-server`;
    } catch {
      continue;
    }
  }
  return undefined;
}
