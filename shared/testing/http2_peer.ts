/** The other end of an HTTP/2 connection in memory, frame by frame: for tests only. */

import { concatBytes } from "../base/bytes.ts";
import { Http2Connection, type Http2Handler } from "../http2/connection.ts";
import {
  Flag,
  frame,
  FrameType,
  HEAD_BYTES,
  PREFACE,
  readHead,
  readUint31,
  settingsFrame,
} from "../http2/frames.ts";
import { encodeFields } from "../http2/hpack.ts";
import type { Http2Bytes } from "../http2/outbox.ts";
import type { LoopTurns } from "../http2/turns.ts";

/** A connection in memory: the test is the peer. */
class Wire implements Http2Bytes {
  closed = false;
  bytesRead = 0;
  readonly written: Uint8Array[] = [];
  #isHungUp = false;
  #incoming: Uint8Array[] = [];
  #wake: (() => void) | undefined;

  send(...parts: Uint8Array[]): void {
    this.#incoming.push(...parts);
    this.#wake?.();
  }

  /** Sends nothing more: the connection's end is read behind what was sent. */
  hangUp(): void {
    this.#isHungUp = true;
    this.#wake?.();
  }

  /** Whether all that was sent was read. */
  get isRead(): boolean {
    return this.#incoming.length === 0;
  }

  async read(into: Uint8Array): Promise<number | null> {
    while (this.#incoming.length === 0) {
      if (this.closed || this.#isHungUp) return null;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    const next = this.#incoming[0] ?? new Uint8Array(0);
    const count = Math.min(next.byteLength, into.byteLength);
    into.set(next.subarray(0, count));
    this.bytesRead += count;
    if (count === next.byteLength) this.#incoming.shift();
    else this.#incoming[0] = next.subarray(count);
    return count;
  }

  write(bytes: Uint8Array): Promise<number> {
    this.written.push(bytes.slice());
    return Promise.resolve(bytes.byteLength);
  }

  close(): void {
    this.closed = true;
    this.#wake?.();
  }

  /** What was sent so far, frame by frame. */
  frames() {
    const bytes = concatBytes(this.written);
    const frames = [];
    for (let at = 0; at < bytes.byteLength;) {
      const head = readHead(bytes, at);
      const end = at + HEAD_BYTES + head.payloadBytes;
      frames.push({ ...head, payload: bytes.subarray(at + HEAD_BYTES, end) });
      at = end;
    }
    return frames;
  }

  /** The code of the GOAWAY that ended it; undefined without one. */
  goneAway(): number | undefined {
    const last = this.frames().findLast((one) => one.type === FrameType.GOAWAY);
    return last && readUint31(last.payload, 4);
  }
}

export interface Peer {
  readonly wire: Wire;
  readonly connection: Http2Connection;
  readonly done: Promise<void>;
  readonly bodies: string[];
  nowMs: number;
}

/** Nobody else wants a turn. */
export const AT_ONCE: Pick<LoopTurns, "next"> = { next: () => Promise.resolve() };

export const ANSWER = { fields: [[":status", "200"], ["x", "y"]] as const };

/**
 * A connection whose handler reads the body and answers; past the preface unless told otherwise.
 */
export function connect(
  options: {
    readonly handler?: Http2Handler;
    readonly greeted?: boolean;
    readonly turns?: Pick<LoopTurns, "next">;
  } = {},
): Peer {
  const wire = new Wire();
  const bodies: string[] = [];
  const handler: Http2Handler = options.handler ?? (async (call) => {
    let text = "";
    try {
      await call.receive((part) => text += new TextDecoder().decode(part));
      bodies.push(`${call.headers.get(":path")} ${text}`);
    } catch {
      bodies.push(`${call.headers.get(":path")} gone`);
    }
    return ANSWER;
  });
  const peer = { wire, bodies, nowMs: 0 };
  const connection = new Http2Connection(wire, {
    peer: "192.0.2.1",
    handler,
    nowMs: () => peer.nowMs,
    turns: options.turns ?? AT_ONCE,
  });
  if (options.greeted !== false) wire.send(PREFACE, settingsFrame([]));
  return Object.assign(peer, { connection, done: connection.run() });
}

export function requestFields(path: string): Uint8Array {
  return encodeFields([[":method", "POST"], [":path", path]]);
}

export function headers(stream: number, flags: number = Flag.END_HEADERS, path = `/${stream}`) {
  return frame(FrameType.HEADERS, requestFields(path), { flags, stream });
}

export function data(stream: number, text: string, flags = 0) {
  return frame(FrameType.DATA, new TextEncoder().encode(text), { flags, stream });
}

export const settle = () => new Promise((resolve) => setTimeout(resolve, 5));
export const WHOLE = Flag.END_HEADERS | Flag.END_STREAM;
