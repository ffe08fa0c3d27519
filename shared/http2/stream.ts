/** One call: a request's header fields, its body as it arrives, and whether anybody still waits. */

import { HTTP2_LIMITS } from "./limits.ts";
import type { Field } from "./hpack_tables.ts";

/** A request as a handler sees it. */
export interface Http2Call {
  /** Lower-case names, pseudo-headers with them; several of one name are joined with a comma. */
  readonly headers: ReadonlyMap<string, string>;
  /** Address of the connection's other end. */
  readonly peer: string;
  /** Aborts when the peer resets the call or its connection ends. */
  readonly gone: AbortSignal;
  /**
   * Hands the body over part by part; a part is valid only within `sink`. Resolves at its end.
   * Rejects with what `sink` threw, and with `gone`'s reason. To be called once.
   */
  receive(sink: (part: Uint8Array) => void): Promise<void>;
}

/** A whole response. Without body and trailers, the fields end it. */
export interface Http2Answer {
  /** `:status` first. */
  readonly fields: readonly Field[];
  readonly body?: Uint8Array;
  readonly trailers?: readonly Field[];
}

export class Stream implements Http2Call {
  readonly id: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly peer: string;
  /** Body bytes that the peer may still send, and those consumed that it was not told of. */
  receiveWindow: number = HTTP2_LIMITS.streamWindowBytes;
  uncredited = 0;
  /** Body bytes that came and were not consumed. */
  unread = 0;
  /** What the peer added to where its streams' windows begin: body bytes that we may send. */
  windowGrown = 0;
  /** The peer sent all. */
  ended = false;
  readonly #gone = new AbortController();
  readonly #body = Promise.withResolvers<void>();
  readonly #credit: (bytes: number) => void;
  #sink: ((part: Uint8Array) => void) | undefined;
  #waiting: { readonly part: Uint8Array; readonly bytes: number }[] = [];

  constructor(options: {
    id: number;
    fields: readonly Field[];
    peer: string;
    /** Told of every body byte that was consumed. */
    credit: (stream: Stream, bytes: number) => void;
  }) {
    this.id = options.id;
    this.headers = joined(options.fields);
    this.peer = options.peer;
    this.#credit = (bytes) => options.credit(this, bytes);
    this.#body.promise.catch(() => {});
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  receive(sink: (part: Uint8Array) => void): Promise<void> {
    this.#sink = sink;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { part, bytes } of waiting) this.#consume(part, bytes);
    if (this.ended) this.#body.resolve();
    return this.#body.promise;
  }

  /** A part of the body; `bytes` is what it took of the window, padding included. */
  push(part: Uint8Array, bytes: number): void {
    this.unread += bytes;
    if (this.#sink === undefined) this.#waiting.push({ part: part.slice(), bytes });
    else this.#consume(part, bytes);
  }

  /** The body is whole. */
  end(): void {
    this.ended = true;
    if (this.#sink !== undefined) this.#body.resolve();
  }

  /** Nobody waits for an answer any more. */
  cancel(reason: Error): void {
    this.#waiting = [];
    this.#body.reject(reason);
    this.#gone.abort(reason);
  }

  #consume(part: Uint8Array, bytes: number): void {
    try {
      this.#sink?.(part);
    } catch (error) {
      this.#sink = () => {};
      this.#body.reject(error);
    }
    this.unread -= bytes;
    this.#credit(bytes);
  }
}

function joined(fields: readonly Field[]): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const [name, value] of fields) {
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return headers;
}
