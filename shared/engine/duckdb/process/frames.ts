/**
 * Frames (`calls.ts`) over a socket. Frames that are sent in one turn of the event loop leave in
 * one write. There is one write at a time, since the runtime copies all that wait into one buffer.
 */

import type { Socket } from "node:net";
import { concatBytes, utf8, viewOf } from "../../../base/bytes.ts";

const PREFIX_BYTES = 8;
/** A statement has at most 256 KiB, its tree some MiB. A longer header is no frame of ours. */
const HEADER_BYTES_MAX = 256 * 2 ** 20;
/** A chunk is 2,048 rows at most. A longer body is no frame of ours. */
const BODY_BYTES_MAX = 2 ** 31;
/**
 * Bytes that are copied into one buffer to be sent by one call. Longer buffers are sent as they
 * are.
 */
const JOINED_BYTES_MAX = 65_536;

const DECODER = new TextDecoder();

/** Takes what comes over the socket. */
export interface FrameReceiver {
  /** Takes a frame. `body` is the receiver's own. */
  onFrame(header: unknown, body: Uint8Array<ArrayBuffer>): void;
  /** No frame comes any more. It is called once. */
  onEnd(): void;
}

/** Sends frames over a socket, and gives those that come to a `FrameReceiver`. */
export class FrameSocket {
  readonly #outgoing: Uint8Array<ArrayBuffer>[] = [];
  #isWriting = false;
  #isOver = false;
  #isHeld = false;

  constructor(private readonly socket: Socket, reader: FrameReceiver) {
    const incoming = new IncomingFrames(reader);
    const end = () => {
      if (this.#isOver) return;
      this.#isOver = true;
      socket.destroy();
      reader.onEnd();
    };
    socket.on("data", (bytes: Uint8Array<ArrayBuffer>) => {
      if (!this.#isOver && !incoming.push(bytes)) end();
    });
    socket.on("end", end);
    socket.on("close", end);
    socket.on("error", end);
  }

  /** Sends a frame. Nothing happens once the other side is gone: `onEnd` has told that. */
  send(header: unknown, ...body: readonly Uint8Array<ArrayBuffer>[]): void {
    if (this.#isOver) return;
    const text = utf8(JSON.stringify(header));
    const prefix = new Uint8Array(PREFIX_BYTES);
    const view = viewOf(prefix);
    view.setUint32(0, text.byteLength, true);
    view.setUint32(4, lengthOf(body), true);
    if (this.#outgoing.length === 0) queueMicrotask(() => this.#flush());
    this.#outgoing.push(prefix, text, ...body);
  }

  /** Until `release`, what is sent leaves together with what follows. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    queueMicrotask(() => this.#flush());
  }

  destroy(): void {
    this.socket.destroy();
  }

  #flush(): void {
    if (this.#isHeld || this.#isWriting || this.#isOver) return;
    const bytes = this.#next();
    if (bytes === undefined) return;
    this.#isWriting = true;
    this.socket.write(bytes, () => {
      this.#isWriting = false;
      this.#flush();
    });
  }

  /** Takes what is written next: a long buffer as it is, or short ones joined. */
  #next(): Uint8Array<ArrayBuffer> | undefined {
    const isLong = (part: Uint8Array) => part.byteLength > JOINED_BYTES_MAX;
    const [first] = this.#outgoing;
    if (first === undefined || isLong(first)) return this.#outgoing.shift();
    let count = 0;
    let bytes = 0;
    for (const part of this.#outgoing) {
      if (isLong(part) || bytes > JOINED_BYTES_MAX) break;
      count += 1;
      bytes += part.byteLength;
    }
    return concatBytes(this.#outgoing.splice(0, count));
  }
}

/** Puts frames together from whatever pieces they come in. */
class IncomingFrames {
  readonly #prefix = new Uint8Array(PREFIX_BYTES);
  #header = new Uint8Array(0);
  #body = new Uint8Array(0);
  /** Bytes of the frame that have come. */
  #at = 0;

  constructor(private readonly reader: FrameReceiver) {}

  /** Takes bytes. False: they are no frame. */
  push(bytes: Uint8Array): boolean {
    for (let from = 0; from < bytes.byteLength;) {
      from += this.#take(bytes.subarray(from));
      if (this.#at === PREFIX_BYTES && !this.#begin()) return false;
      const frameBytes = PREFIX_BYTES + this.#header.byteLength + this.#body.byteLength;
      if (this.#at > PREFIX_BYTES && this.#at === frameBytes && !this.#end()) return false;
    }
    return true;
  }

  /** Copies what belongs to the part that is being filled. Returns how many bytes that is. */
  #take(bytes: Uint8Array): number {
    let part = this.#prefix;
    let at = this.#at;
    if (at >= PREFIX_BYTES) {
      at -= PREFIX_BYTES;
      part = this.#header;
      if (at >= part.byteLength) {
        at -= part.byteLength;
        part = this.#body;
      }
    }
    const count = Math.min(bytes.byteLength, part.byteLength - at);
    part.set(bytes.subarray(0, count), at);
    this.#at += count;
    return count;
  }

  #begin(): boolean {
    const view = viewOf(this.#prefix);
    const headerBytes = view.getUint32(0, true);
    const bodyBytes = view.getUint32(4, true);
    // A header is never empty, so the frame ends with a byte that comes.
    if (headerBytes === 0 || headerBytes > HEADER_BYTES_MAX || bodyBytes > BODY_BYTES_MAX) {
      return false;
    }
    this.#header = new Uint8Array(headerBytes);
    this.#body = new Uint8Array(bodyBytes);
    return true;
  }

  #end(): boolean {
    let header: unknown;
    try {
      header = JSON.parse(DECODER.decode(this.#header));
    } catch {
      return false;
    }
    const body = this.#body;
    this.#at = 0;
    this.reader.onFrame(header, body);
    return true;
  }
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.byteLength, 0);
}
