/**
 * The server's end of one HTTP/1.1 connection: requests one after the other, each answered before
 * the next is read.
 *
 * Invariants:
 * - What a peer may make us hold is bounded by `limits.ts`.
 * - Each wait for the peer has a deadline, told by `sweep`. The handler has the deadline of a
 *   body's bytes.
 * - A peer that breaks the rules is told so and loses its connection, never more.
 * - `run` never rejects.
 */

import { getLogger } from "@logtape/logtape";
import { utf8 } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import { Answer, AnswerCancelled } from "./answer.ts";
import { IncomingRequest } from "./incoming_request.ts";
import { type ByteConnection, Input } from "./input.ts";
import { isLost } from "./lost_connection.ts";
import { HTTP1_LIMITS } from "./limits.ts";
import { Refusal, type RefusalReason } from "./refusal.ts";
import { RequestBody } from "./request_body.ts";
import { headLength, type HeadProgress, parseHead, type RequestHead } from "./request_head.ts";
import { statusText } from "./status_text.ts";

export interface Http1ConnectionOptions {
  readonly peer: string;
  readonly scheme: "http" | "https";
  readonly handler: (request: Request) => Response | Promise<Response>;
  /** Monotonic, for the limits of time. */
  readonly nowMs: () => number;
  readonly stallMsMax: number;
  /** Whether answers are compressed for clients that ask for it. */
  readonly compresses: boolean;
  /** Hears of requests that no handler saw. */
  readonly onRefusal: (reason: RefusalReason) => void;
  /**
   * Begins to wait for a request or for the rest of its head, or has it (`isWaiting` is false): one
   * that waits may be closed for another.
   */
  readonly onWaiting: (connection: Http1Connection, isWaiting: boolean) => void;
}

/**
 * `silent`: nothing came yet; `idle`: between requests; `head`: a request has begun; `handling`:
 * the handler has it; `answering`: it is answered; `lingering`: it is to stop sending.
 */
type Phase = "silent" | "idle" | "head" | "handling" | "answering" | "lingering";

interface Exchange {
  readonly request: IncomingRequest;
  readonly body: RequestBody | undefined;
  answer: Answer | undefined;
  /** The client left, or only stopped sending, which looks the same. */
  hasLeft: boolean;
}

export class Http1Connection {
  readonly #bytes: ByteConnection;
  readonly #options: Http1ConnectionOptions;
  readonly #input: Input;
  #phase: Phase = "silent";
  #sinceMs: number;
  /** Since when the peer has taken nothing of what is being written. */
  #writingMs: number | undefined;
  #exchange: Exchange | undefined;
  #isDraining = false;
  #isClosed = false;

  constructor(bytes: ByteConnection, options: Http1ConnectionOptions) {
    this.#bytes = bytes;
    this.#options = options;
    this.#input = new Input(bytes, HTTP1_LIMITS.bufferBytes);
    this.#sinceMs = options.nowMs();
  }

  get peer(): string {
    return this.#options.peer;
  }

  /** Whether it has answered a request and nothing of the next one is there. */
  get isIdle(): boolean {
    return this.#phase === "idle";
  }

  /** Serves until the connection ends, however it does. Never rejects. */
  async run(): Promise<void> {
    this.#options.onWaiting(this, true);
    try {
      while (await this.#serveOne());
    } catch (error) {
      if (error instanceof Refusal) await this.#refuse(error);
      else if (!isLost(error) && !this.#isClosed) {
        getLogger(["svc", "http"]).error("HTTP/1.1 connection failed by a bug: {error}", { error });
      }
    } finally {
      this.close();
    }
  }

  /** Takes no more requests, and ends once the one in flight is answered. */
  drain(): void {
    this.#isDraining = true;
    if (this.#exchange === undefined && this.#phase !== "lingering") this.close();
  }

  /** Whether a request with a body is in flight. */
  get hasBodyInFlight(): boolean {
    return this.#exchange?.body !== undefined;
  }

  /** Nothing more is read of a body that is on its way; the request whose it is. */
  cutBody(): Request | undefined {
    const { body, request } = this.#exchange ?? {};
    if (body === undefined || body.hasEnded) return undefined;
    body.cut(new TypeError("the body was cut off: the server stops"));
    return request;
  }

  /** Ends at once; the handler of a request in flight sees that its client left. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#options.onWaiting(this, false);
    this.#bytes.close();
    this.#clientLeft();
  }

  /** Applies the limits of time; to be called every `sweepMs`. */
  sweep(nowMs = this.#options.nowMs()): void {
    if (nowMs - (this.#writingMs ?? nowMs) > this.#options.stallMsMax) return this.close();
    const waitedMs = nowMs - this.#sinceMs;
    switch (this.#phase) {
      case "silent":
        if (waitedMs > HTTP1_LIMITS.headMsMax) this.close();
        return;
      case "head":
        if (waitedMs > HTTP1_LIMITS.headMsMax) this.#giveUpHead();
        return;
      case "idle":
        if (waitedMs > HTTP1_LIMITS.idleMsMax) this.close();
        return;
      case "lingering":
        if (waitedMs > HTTP1_LIMITS.lingerMsMax) this.close();
        return;
    }
  }

  #enter(phase: Phase): void {
    this.#phase = phase;
    this.#sinceMs = this.#options.nowMs();
    if (this.#isClosed || phase === "answering" || phase === "lingering") return;
    this.#options.onWaiting(this, phase !== "handling");
  }

  /** One request and its answer; whether another may follow. */
  async #serveOne(): Promise<boolean> {
    const head = await this.#readHead();
    if (head === undefined) return false;
    this.#enter("handling");
    const exchange = this.#exchange = this.#open(head);
    try {
      if (exchange.body === undefined) this.#watch(exchange);
      const response = await this.#respond(exchange.request);
      return await this.#send(exchange, { head, response });
    } finally {
      this.#exchange = undefined;
      if (this.#isDraining && this.#phase !== "lingering") this.close();
    }
  }

  /** Undefined: the peer left instead. */
  async #readHead(): Promise<RequestHead | undefined> {
    const progress: HeadProgress = { lineStart: 0, searched: 0 };
    this.#input.shrink();
    if (this.#phase !== "silent") this.#enter("idle");
    for (;;) {
      if (this.#isClosed) return undefined;
      if (progress.searched === 0) this.#dropEmptyLines();
      const bytes = this.#input.peek();
      // To those who begin with a TLS handshake nothing that we could say is of use.
      if (bytes[0] === TLS_HANDSHAKE) return undefined;
      const isHead = bytes.byteLength > 1 || bytes.byteLength === 1 && bytes[0] !== CR;
      if (isHead && this.#phase !== "head") this.#begin();
      // A CR alone is perhaps half of an empty line.
      const length = isHead ? headLength(bytes, progress) : -1;
      if (length >= 0) {
        const head = parseHead(bytes.subarray(0, length));
        this.#input.drop(length);
        return head;
      }
      if (bytes.byteLength >= HTTP1_LIMITS.headBytesMax) throw headTooLarge();
      if (!await this.#input.fill(HTTP1_LIMITS.headBytesMax)) return undefined;
    }
  }

  /** The first request's time counts from the connection on, which may have had a handshake. */
  #begin(): void {
    const sinceMs = this.#sinceMs;
    const isFirst = this.#phase === "silent";
    this.#enter("head");
    if (isFirst) this.#sinceMs = sinceMs;
  }

  /** RFC 9112, section 2.2: some senders put an empty line behind a body. */
  #dropEmptyLines(): void {
    for (;;) {
      const bytes = this.#input.peek();
      if (bytes[0] !== CR || bytes[1] !== LF) return;
      this.#input.drop(2);
    }
  }

  #open(head: RequestHead): Exchange {
    const body = head.framing === undefined
      ? undefined
      : new RequestBody(this.#input, head.framing, {
        onWait: () => {
          if (head.expectsContinue) this.#write(CONTINUE).catch(() => {});
        },
        onEnd: () => this.#watch(exchange),
      });
    const request = new IncomingRequest({ head, body, scheme: this.#options.scheme });
    const exchange: Exchange = { request, body, answer: undefined, hasLeft: false };
    return exchange;
  }

  /**
   * Looks for the peer's leaving while its request is handled and answered. What comes instead are
   * its next requests: up to a head's bytes of them are taken.
   */
  async #watch(exchange: Exchange): Promise<void> {
    const { headBytesMax } = HTTP1_LIMITS;
    this.#input.shrink();
    try {
      while (this.#exchange === exchange && this.#input.length < headBytesMax) {
        if (!await this.#input.fill(headBytesMax)) break;
      }
    } catch { /* Reset, which is an end, too; or a body was cut, and its answer follows. */ }
    if (this.#exchange === exchange && this.#input.hasEnded) this.#clientLeft();
  }

  #clientLeft(): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    exchange.hasLeft = true;
    exchange.request.clientLeft();
    const cancel = () => exchange.answer?.cancel(new DOMException("the client left", "AbortError"));
    // A peer that only stops sending looks the same. An answer whose bytes are at hand is read by
    // the next turn, so that the peer has it all the same.
    if (this.#isClosed) cancel();
    else setTimeout(cancel, 0);
  }

  async #respond(request: Request): Promise<Response> {
    try {
      return await this.#options.handler(request);
    } catch (error) {
      getLogger(["svc", "http"]).error("request handler threw: {error}", { error });
      return new Response(null, { status: 500 });
    }
  }

  async #send(
    exchange: Exchange,
    { head, response }: { readonly head: RequestHead; readonly response: Response },
  ): Promise<boolean> {
    const { body, request } = exchange;
    if (body !== undefined && !request.bodyUsed) {
      try {
        body.dropAtHand();
      } catch (error) {
        // The peer is told of its broken body instead, so that nobody reads this answer.
        request.clientLeft();
        response.body?.cancel(error).catch(() => {});
        throw error;
      }
      this.#watch(exchange);
    }
    const isWholeRequest = body?.hasEnded ?? true;
    this.#enter("answering");
    const answer = exchange.answer = new Answer(response, {
      head,
      keepsAlive: head.keepsAlive && isWholeRequest && !this.#isDraining &&
        (this.#input.length > 0 || !this.#input.hasEnded),
      nowMs: this.#options.nowMs,
      compresses: this.#options.compresses,
    });
    if (this.#isClosed || exchange.hasLeft) this.#clientLeft();
    try {
      if (await answer.send(this.#write)) return true;
    } catch (error) {
      answer.cancel(error);
      this.#tellEarlyEnd(error);
      return false;
    }
    if (!isWholeRequest || this.#input.length > 0) await this.#linger();
    return false;
  }

  /** Its connection is cut: that is how the client learns of it. */
  #tellEarlyEnd(error: unknown): void {
    if (this.#isClosed || isLost(error) || error instanceof AnswerCancelled) return;
    const log = getLogger(["svc", "http"]);
    if (isOperatingError(error, "cancelled")) {
      log.info("an answer ended early: {why}", { why: error.message });
    } else log.error("an answer failed on its way: {error}", { error });
  }

  readonly #write = async (bytes: Uint8Array): Promise<void> => {
    try {
      for (let at = 0; at < bytes.byteLength;) {
        this.#writingMs = this.#options.nowMs();
        at += await this.#bytes.write(at === 0 ? bytes : bytes.subarray(at));
      }
    } finally {
      this.#writingMs = undefined;
    }
  };

  #giveUpHead(): void {
    const text = `the head of the request did not come within ${HTTP1_LIMITS.headMsMax} ms`;
    this.#input.interrupt(new Refusal(text, { status: 408, reason: "head_late" }));
  }

  async #refuse(refusal: Refusal): Promise<void> {
    this.#options.onRefusal(refusal.reason);
    getLogger(["svc", "http"]).debug("request of {peer} refused: {why}", {
      peer: this.#options.peer,
      why: refusal.message,
    });
    this.#enter("answering");
    try {
      await this.#write(refusalBytes(refusal));
      await this.#linger();
    } catch (error) {
      this.#tellEarlyEnd(error);
    }
  }

  /**
   * A connection that is closed while its peer sends is reset, and the peer may not read its
   * answer.
   */
  async #linger(): Promise<void> {
    this.#enter("lingering");
    await this.#bytes.closeWrite();
    this.#input.resume();
    for (let dropped = 0; dropped < HTTP1_LIMITS.lingerBytesMax;) {
      dropped += this.#input.length;
      this.#input.drop(this.#input.length);
      if (!await this.#input.fill(HTTP1_LIMITS.chunkedBufferBytes)) return;
    }
  }
}

const CR = 0x0d;
const LF = 0x0a;
const CONTINUE = utf8("HTTP/1.1 100 Continue\r\n\r\n");
/** First byte of a TLS handshake. */
const TLS_HANDSHAKE = 0x16;

function headTooLarge(): Refusal {
  return new Refusal(`the head of the request is over ${HTTP1_LIMITS.headBytesMax} bytes`, {
    status: 431,
    reason: "head_too_large",
  });
}

/** RFC 9113: empty SETTINGS, and GOAWAY with HTTP_1_1_REQUIRED. */
const HTTP2_REFUSAL = new Uint8Array([
  ...[0, 0, 0, 4, 0, 0, 0, 0, 0],
  ...[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0d],
]);

function refusalBytes({ status, reason, message }: Refusal): Uint8Array {
  if (reason === "http2") return HTTP2_REFUSAL;
  const body = JSON.stringify({
    error: `cannot read the request: ${message}`,
    code: status,
    reason,
  });
  return utf8(
    `HTTP/1.1 ${status} ${statusText(status)}\r\ncontent-type: application/json\r\n` +
      `content-length: ${utf8(body).byteLength}\r\ndate: ${new Date().toUTCString()}\r\n` +
      `connection: close\r\n\r\n${body}`,
  );
}
