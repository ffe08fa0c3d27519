/**
 * A real S3-protocol server for tests: npm `s3rver`, run by Node (its paging needs DES, which Deno
 * does not have). A proxy in front of it adds conditional writes, and fails, delays and counts as a
 * test asks. Calls `Deno.serve` and `Deno.Command` itself.
 */

import { request as httpRequest } from "node:http";
import type { S3Access, S3Place } from "../storage/s3_settings.ts";

/**
 * What becomes of a request:
 * - an answer of the store's own kind, or a connection that breaks,
 * - half of the right answer, or half of it and then nothing more, on a connection that stays open,
 * - no answer to a request that is not carried out (`hang`), or to one that is (`mute`), until the
 *   client has left.
 */
export type S3Fault =
  | { readonly status: number; readonly code: string }
  | "reset"
  | "half"
  | "stall"
  | "hang"
  | "mute";

export interface S3Request {
  readonly method: string;
  /** Bucket and key. */
  readonly path: string;
  readonly query: URLSearchParams;
}

const BUCKET = "warehouse";
/**
 * Prints its port; ends when its input does, so that it does not outlive a test that was killed. By
 * itself it lists and answers an object while it is written, and says that it is stored before it
 * is: it is given a way that does neither.
 */
const NODE_OPTIONS = ["--openssl-legacy-provider", "--input-type=module"];
const SERVER = `
  import { createHash, randomUUID } from "node:crypto";
  import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
  import { dirname, join } from "node:path";
  import S3rver from "s3rver";
  const [directory, name] = process.argv.slice(1);
  const configureBuckets = [{ name, configs: [] }];
  const options = { address: "127.0.0.1", port: 0, silent: true, directory, configureBuckets };
  const server = new S3rver(options);
  const { store } = server;
  const written = join(directory, ".written"); // No bucket: a listing stops at a file that goes.
  await mkdir(written, { recursive: true });
  store.putObject = async ({ bucket, key, content, metadata }) => {
    const file = join(written, randomUUID());
    await writeFile(file, content);
    const bytes = await readFile(file);
    const md5 = createHash("md5").update(bytes).digest("hex");
    const path = store.getResourcePath(bucket, key, "object");
    for (let tries = 1;; tries += 1) {
      try {
        await mkdir(dirname(path), { recursive: true });
        await store.putMetadata(bucket, key, metadata, md5);
        await rename(file, path);
        return { size: bytes.byteLength, md5 };
      } catch (error) {
        // A delete of the last object beside it took the folder away meanwhile.
        if (error.code !== "ENOENT" || tries === 100) throw error;
      }
    }
  };
  const { port } = await server.run();
  console.log(port);
  process.stdin.on("end", () => process.exit(0)).resume();
`;

/** What s3rver accepts. */
const CREDENTIALS = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };

export class S3Process implements AsyncDisposable {
  /** Milliseconds added to each request. */
  delayMs = 0;
  /** Asked for each request. */
  faultOf: (request: S3Request) => S3Fault | undefined = () => undefined;
  /** All that came in, failed ones too. */
  readonly requests: S3Request[] = [];
  /** Answers of `stall` whose readers have not gone. */
  stalling = 0;
  /** undefined while it is killed. */
  #server: Deno.ChildProcess | undefined;
  readonly #folder: string;
  #port = 0;
  readonly #door: Deno.HttpServer<Deno.NetAddr>;
  /** Paths of the objects that are there. */
  readonly #stored = new Set<string>();
  readonly #over = Promise.withResolvers<void>();

  private constructor(folder: string) {
    this.#folder = folder;
    this.#door = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#answer(request),
    );
  }

  static async start(): Promise<S3Process> {
    const s3 = new S3Process(await Deno.makeTempDir({ prefix: "svc-s3-" }));
    await s3.resume();
    return s3;
  }

  /** SIGKILL; requests break until `resume`. */
  async kill(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.kill("SIGKILL");
    await server?.stdin.abort().catch(() => {});
    await server?.status;
  }

  /** Starts the server over what is stored. */
  async resume(): Promise<void> {
    const server = new Deno.Command("node", {
      args: [...NODE_OPTIONS, "--eval", SERVER, this.#folder, BUCKET],
      cwd: new URL("../../tests", import.meta.url),
      stdin: "piped", // Its end is the server's.
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const reader = server.stdout.getReader();
    const { value } = await reader.read();
    await reader.cancel();
    this.#port = Number(new TextDecoder().decode(value));
    // What it had begun to write when it was killed may be there or not.
    this.#stored.clear();
    for await (const key of keysBelow(`${this.#folder}/${BUCKET}`)) {
      this.#stored.add(`/${BUCKET}/${key}`);
    }
    this.#server = server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#door.addr.port}`;
  }

  /** A warehouse of its own. */
  place(prefix: string): S3Place {
    return { bucket: BUCKET, prefix };
  }

  get access(): S3Access {
    return {
      endpoint: this.url,
      region: "us-east-1",
      pathStyle: true,
      credentials: CREDENTIALS,
    };
  }

  /** The variables that lead a process here. */
  get environment(): Record<string, string> {
    return {
      AWS_ENDPOINT_URL: this.url,
      AWS_REGION: this.access.region,
      AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    };
  }

  /**
   * The environment of a client that goes past the proxy: no faults, no delays, no conditions, and
   * nothing of this process in the way.
   */
  get directEnvironment(): Record<string, string> {
    return { ...this.environment, AWS_ENDPOINT_URL: `http://127.0.0.1:${this.#port}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.resolve();
    await this.#door.shutdown();
    await this.#server?.stdin.close();
    await this.#server?.status;
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const asked = { method: request.method, path: url.pathname, query: url.searchParams };
    this.requests.push(asked);
    const body = new Uint8Array(await request.arrayBuffer());
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
    const fault = this.#server === undefined ? "reset" : this.faultOf(asked);
    if (fault === "reset") return new Response(broken(new Uint8Array()), { status: 200 });
    if (typeof fault === "object") return errorAnswer(fault);
    if (fault === "hang") return await this.#untilLeft(request);
    const isConditional = request.headers.get("if-none-match") === "*";
    if (isConditional && this.#stored.has(url.pathname)) {
      return errorAnswer({ status: 412, code: "PreconditionFailed" });
    }
    // Before the server has answered, so that of two writers at a time the second is refused.
    const stores = request.method === "PUT"
      ? !asked.query.has("partNumber")
      : request.method === "POST" && asked.query.has("uploadId");
    const isNew = stores && !this.#stored.has(url.pathname);
    if (isNew) this.#stored.add(url.pathname);
    const forwarding = this.#forward(request, { path: url.pathname + url.search, body });
    const answer = await forwarding.catch(() => undefined);
    // Killed meanwhile.
    if (answer === undefined) return new Response(broken(new Uint8Array()), { status: 200 });
    if (isNew && !answer.ok) this.#stored.delete(url.pathname);
    if (asked.query.has("delete")) this.#forget(url.pathname, new TextDecoder().decode(body));
    if (fault === undefined) return answer;
    if (fault === "mute") {
      await answer.body?.cancel();
      return await this.#untilLeft(request);
    }
    const whole = new Uint8Array(await answer.arrayBuffer());
    const half = whole.subarray(0, whole.byteLength >> 1);
    return new Response(fault === "half" ? broken(half) : this.#stalled(half), {
      status: answer.status,
      headers: [...answer.headers].filter(([name]) => name !== "transfer-encoding"),
    });
  }

  /** A body that never goes on behind `start`. */
  #stalled(start: Uint8Array): ReadableStream<Uint8Array> {
    this.stalling += 1;
    return new ReadableStream({
      start: (controller) => controller.enqueue(start),
      cancel: () => void (this.stalling -= 1),
    });
  }

  /** An answer for nobody. */
  async #untilLeft({ signal }: Request): Promise<Response> {
    const { promise: left, resolve } = Promise.withResolvers<void>();
    this.#over.promise.then(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (!signal.aborted) await left;
    return new Response();
  }

  #forget(bucket: string, document: string): void {
    for (const [, key = ""] of document.matchAll(/<Key>(.*?)<\/Key>/gs)) {
      const path = `${bucket.replace(/\/$/, "")}/${
        key.split("/").map(encodeURIComponent).join("/")
      }`;
      this.#stored.delete(path);
    }
  }

  /** With the head as it came: the signature covers it. */
  #forward(
    request: Request,
    { path, body }: { readonly path: string; readonly body: Uint8Array },
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const headers = Object.fromEntries(request.headers);
      const forwarded = httpRequest({
        host: "127.0.0.1",
        port: this.#port,
        method: request.method,
        path,
        headers: { ...headers, "content-length": String(body.byteLength) },
      }, (answer) => {
        const parts: Uint8Array[] = [];
        answer.on("data", (part: Uint8Array) => parts.push(part));
        answer.on("error", reject);
        answer.on("end", () => {
          const status = answer.statusCode ?? 500;
          const isEmpty = status === 204 || status === 304 || request.method === "HEAD";
          const all = new Blob(parts as Uint8Array<ArrayBuffer>[]);
          const fields = Object.entries(answer.headers).filter(([name]) =>
            name !== "connection" && name !== "transfer-encoding"
          );
          resolve(
            new Response(isEmpty ? null : all, {
              status,
              headers: fields.map(([name, value]): [string, string] => [name, String(value)]),
            }),
          );
        });
      });
      forwarded.on("error", reject);
      forwarded.end(body);
    });
  }
}

/** What s3rver calls the file of an object. */
const OBJECT_END = "._S3rver_object";

/** Keys of the objects in a bucket's folder, as they stand in a URL. */
async function* keysBelow(folder: string, prefix = ""): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* keysBelow(`${folder}/${name}`, `${prefix}${encodeURIComponent(name)}/`);
    else if (name.endsWith(OBJECT_END)) {
      yield prefix + encodeURIComponent(name.slice(0, -OBJECT_END.length));
    }
  }
}

function errorAnswer({ status, code }: { readonly status: number; readonly code: string }) {
  const document =
    `<?xml version="1.0"?><Error><Code>${code}</Code><Message>asked for by the test` +
    `</Message></Error>`;
  return new Response(document, { status, headers: { "content-type": "application/xml" } });
}

/** A body that breaks off behind `start`. */
function broken(start: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async start(controller) {
      if (start.byteLength > 0) controller.enqueue(start);
      await new Promise((resolve) => setTimeout(resolve, 10));
      controller.error(new Error("asked for by the test"));
    },
  });
}
