/**
 * Files of a folder as objects behind `range_server.ts`, a process of its own that ends with this.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { ObjectInfo, ReadableStore } from "../../shared/storage/object_store.ts";

export interface RangeServerOptions {
  /** What each request waits. */
  readonly waitMs: number;
  /** Bandwidth of all responses together; default as much as the server can give. */
  readonly bytesPerSec?: number;
}

export class HttpStore implements ReadableStore, AsyncDisposable {
  readonly rootUri: string;
  /**
   * Times in a row that a data file was asked for something after all earlier answers, since
   * `startRounds`.
   */
  rounds = 0;
  #underWay = 0;
  readonly #client = Deno.createHttpClient({ poolMaxIdlePerHost: 64 });

  private constructor(private readonly server: Deno.ChildProcess, port: number) {
    this.rootUri = `http://127.0.0.1:${port}`;
  }

  static async start(
    folder: string,
    { waitMs, bytesPerSec = 0 }: RangeServerOptions,
  ): Promise<HttpStore> {
    const { process, port } = await startRangeServer(folder, { waitMs, bytesPerSec });
    return new HttpStore(process, port);
  }

  startRounds(): void {
    this.rounds = 0;
  }

  get(key: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.#fetch(key, {});
  }

  async getRange(key: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#underWay === 0) this.rounds += 1;
    this.#underWay += 1;
    try {
      return await this.#fetch(key, { range: `bytes=${offset}-${offset + length - 1}` });
    } finally {
      this.#underWay -= 1;
    }
  }

  async head(key: string): Promise<ObjectInfo> {
    const response = await this.#ask(key, { method: "HEAD" });
    await response.body?.cancel();
    return { key, size: Number(response.headers.get("x-length")), modifiedMs: 0 };
  }

  list(_prefix: string): AsyncIterable<ObjectInfo> {
    throw new Error("the benchmark lists nothing");
  }

  localPath(_key: string): undefined {
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
    this.server.kill();
    await this.server.status;
  }

  async #fetch(key: string, headers: Record<string, string>): Promise<Uint8Array<ArrayBuffer>> {
    return await (await this.#ask(key, { headers })).bytes();
  }

  async #ask(key: string, init: RequestInit): Promise<Response> {
    const path = key.split("/").map(encodeURIComponent).join("/");
    const response = await fetch(`${this.rootUri}/${path}`, { ...init, client: this.#client });
    if (response.ok) return response;
    await response.body?.cancel();
    throw new OperatingError("not_found", `Cannot read ${key}: status ${response.status}`);
  }
}

/** `range_server.ts` over a folder. Whoever starts it ends it. */
export async function startRangeServer(
  folder: string,
  { waitMs, bytesPerSec = 0 }: RangeServerOptions,
): Promise<{ readonly process: Deno.ChildProcess; readonly port: number }> {
  const program = `${import.meta.dirname}/range_server.ts`;
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", "--allow-net=127.0.0.1", `--allow-read=${folder}`],
      ...[program, folder, String(waitMs), String(bytesPerSec)],
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = process.stdout.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return { process, port: Number(new TextDecoder().decode(value)) };
}
