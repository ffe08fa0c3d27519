/**
 * A request that came in, as a `Request` whose parts are made when they are asked for.
 *
 * The runtime's own constructor checks a URL, copies all headers and makes a stream. No handler of
 * an ingest server uses these: they ask for the method, three headers and the bytes.
 */

import { IncomingHeaders } from "./incoming_headers.ts";
import type { Bytes, RequestBody } from "./request_body.ts";
import type { RequestHead } from "./request_head.ts";

export interface IncomingRequestOptions {
  readonly head: RequestHead;
  readonly scheme: "http" | "https";
  /** Undefined: it has none. */
  readonly body: RequestBody | undefined;
}

export class IncomingRequest implements Request {
  readonly method: string;
  readonly headers: Headers;
  readonly #options: IncomingRequestOptions;
  #url: string | undefined;
  #stream: ReadableStream<Bytes> | undefined;
  #isRead = false;
  #leaving: AbortController | undefined;
  #hasLeft = false;
  #copy: Request | undefined;

  constructor(options: IncomingRequestOptions) {
    this.#options = options;
    this.method = options.head.method;
    this.headers = new IncomingHeaders(options.head.fields);
  }

  get url(): string {
    const { scheme, head } = this.#options;
    return this.#url ??= `${scheme}://${head.host || "localhost"}${head.target}`;
  }

  get body(): ReadableStream<Bytes> | null {
    const { body } = this.#options;
    if (body === undefined) return null;
    return this.#stream ??= this.#isRead ? lockedStream() : streamOf(body);
  }

  get bodyUsed(): boolean {
    return this.#isRead || (this.#stream?.locked ?? false);
  }

  /** Aborts when the client leaves before it is answered. */
  get signal(): AbortSignal {
    this.#leaving ??= new AbortController();
    if (this.#hasLeft) this.#leaving.abort(clientLeft());
    return this.#leaving.signal;
  }

  /**
   * Its body for a reader that needs no stream of it. The next call gives it again, for whoever
   * drops what the first reader left. Undefined: there is none, or it has a stream.
   */
  takeBody(): RequestBody | undefined {
    if (this.#stream !== undefined) return undefined;
    this.#isRead = true;
    return this.#options.body;
  }

  bytes(): Promise<Bytes> {
    if (this.bodyUsed) {
      return Promise.reject(new TypeError("the body of the request was read already"));
    }
    this.#isRead = true;
    return this.#options.body?.bytes() ?? Promise.resolve(new Uint8Array(0));
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer;
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }

  // deno-lint-ignore no-explicit-any
  async json(): Promise<any> {
    return JSON.parse(await this.text());
  }

  textStream(): ReadableStream<string> {
    return this.#asCopy().textStream();
  }

  async blob(): Promise<Blob> {
    return await this.#asCopy().blob();
  }

  async formData(): Promise<FormData> {
    return await this.#asCopy().formData();
  }

  clone(): Request {
    return this.#asCopy().clone();
  }

  /** Its sender waits for 100 Continue: none of the body is on its way, and nobody wanted any. */
  get waitsToBeAsked(): boolean {
    const { head, body } = this.#options;
    return head.expectsContinue && body !== undefined && !body.hasWaited && !body.hasEnded;
  }

  /** To be told by the connection. */
  clientLeft(): void {
    this.#hasLeft = true;
    this.#leaving?.abort(clientLeft());
  }

  get isReloadNavigation(): boolean {
    return false;
  }
  get isHistoryNavigation(): boolean {
    return false;
  }
  get cache(): RequestCache {
    return "default";
  }
  get credentials(): RequestCredentials {
    return "same-origin";
  }
  get destination(): RequestDestination {
    return "";
  }
  get integrity(): string {
    return "";
  }
  get keepalive(): boolean {
    return false;
  }
  get mode(): RequestMode {
    return "cors";
  }
  get redirect(): RequestRedirect {
    return "follow";
  }
  get referrer(): string {
    return "about:client";
  }
  get referrerPolicy(): ReferrerPolicy {
    return "";
  }

  #asCopy(): Request {
    return this.#copy ??= new Request(this.url, {
      method: this.method,
      headers: [...this.headers],
      body: this.body,
      signal: this.signal,
    });
  }
}

// So that `instanceof Request` tells the truth; its own methods are never reached.
Object.setPrototypeOf(IncomingRequest.prototype, Request.prototype);

function streamOf(body: RequestBody): ReadableStream<Bytes> {
  return new ReadableStream<Bytes>({
    async pull(controller) {
      const piece = await body.piece();
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
    cancel: () => body.abandon(),
  }, { highWaterMark: 0 });
}

/** What there is of a body that is read whole by somebody else. */
function lockedStream(): ReadableStream<Bytes> {
  const stream = new ReadableStream<Bytes>();
  stream.getReader();
  return stream;
}

function clientLeft(): DOMException {
  return new DOMException("the client left before it was answered", "AbortError");
}
