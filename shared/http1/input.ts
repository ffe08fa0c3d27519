/**
 * The bytes that a peer sends, buffered, with at most one read of the connection at a time.
 *
 * A read cannot be taken back: one that nobody waits for any more goes on into the buffer, and the
 * next `fill` waits for it.
 */

import { freeBytes } from "../base/bytes.ts";
import { HTTP1_LIMITS } from "./limits.ts";

/** What a connection is made of: `Deno.Conn`, as far as it is used. */
export interface ByteConnection {
  /** Null at the end. */
  read(into: Uint8Array): Promise<number | null>;
  write(bytes: Uint8Array): Promise<number>;
  /** Says that nothing follows; may fail. */
  closeWrite(): Promise<void>;
  /** May be called again. */
  close(): void;
}

/** The longest buffers, of connections whose bodies are over: the next one needs no fresh pages. */
const SPARE_COUNT_MAX = 16;
const spares: Uint8Array<ArrayBuffer>[] = [];
/** Takes what nobody wants, of all connections. */
const dropped = new Uint8Array(HTTP1_LIMITS.chunkedBufferBytes);

type Reading = PromiseWithResolvers<boolean>;

export class Input {
  readonly #bytes: ByteConnection;
  readonly #bufferBytes: number;
  #buffer: Uint8Array<ArrayBuffer>;
  /** The last read filled the buffer: more is there already. */
  #wasFull = false;
  #start = 0;
  #end = 0;
  #isReading = false;
  #waiting: Reading | undefined;
  #interruption: Error | undefined;
  #hasEnded = false;

  constructor(bytes: ByteConnection, bufferBytes: number) {
    this.#bytes = bytes;
    this.#bufferBytes = bufferBytes;
    this.#buffer = new Uint8Array(bufferBytes);
  }

  /** Whether the peer stopped sending, or has left. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Bytes at hand. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** The bytes at hand; good until the next `fill`. */
  peek(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  drop(count: number): void {
    this.#start += count;
  }

  /** Copies bytes at hand into `target`; how many. */
  moveTo(target: Uint8Array): number {
    const count = Math.min(target.byteLength, this.length);
    if (count > 0) target.set(this.#buffer.subarray(this.#start, this.#start + count));
    this.#start += count;
    return count;
  }

  /**
   * Whether more bytes are at hand: false at the end. Errors: those of the connection, or of
   * `interrupt`.
   */
  fill(bytesMax: number): Promise<boolean> {
    if (this.#interruption !== undefined) return Promise.reject(this.#interruption);
    if (this.#hasEnded) return Promise.resolve(false);
    this.#waiting ??= Promise.withResolvers<boolean>();
    const { promise } = this.#waiting;
    if (!this.#isReading) {
      this.#makeRoom(bytesMax);
      this.#read(this.#buffer.subarray(this.#end), (count) => {
        this.#end += count;
        this.#wasFull = this.#end === this.#buffer.byteLength;
      });
    }
    return promise;
  }

  /**
   * Reads past the buffer, which must be empty; how many bytes came, 0 at the end. Errors: those of
   * `fill`.
   */
  readInto(target: Uint8Array): Promise<number> {
    // A read of before is still going on: what it brings comes first.
    if (this.#isReading) {
      return this.fill(this.#bufferBytes).then((isMore) => isMore ? this.moveTo(target) : 0);
    }
    if (this.#interruption !== undefined) return Promise.reject(this.#interruption);
    if (this.#hasEnded) return Promise.resolve(0);
    this.#waiting ??= Promise.withResolvers<boolean>();
    const { promise } = this.#waiting;
    let came = 0;
    this.#read(target, (count) => came = count);
    return promise.then(() => came);
  }

  /** Drops up to `bytesMax` of the next bytes, also of those to come; how many, 0 at the end. */
  skip(bytesMax: number): number | Promise<number> {
    const atHand = Math.min(bytesMax, this.length);
    this.drop(atHand);
    return atHand > 0 ? atHand : this.readInto(dropped.subarray(0, bytesMax));
  }

  /** Reads that wait for bytes now, and later ones, fail with this error. */
  interrupt(error: Error): void {
    this.#interruption = error;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(error);
  }

  /** Bytes can be had again, to be dropped. */
  resume(): void {
    this.#interruption = undefined;
  }

  /** Gives back what a long head or body took. */
  shrink(): void {
    if (this.#buffer.byteLength === this.#bufferBytes || this.#isReading) return;
    if (this.length > this.#bufferBytes) return;
    this.#replace(new Uint8Array(this.#bufferBytes));
  }

  #makeRoom(bytesMax: number): void {
    if (this.#start === this.#end) this.#start = this.#end = 0;
    const isShort = this.#buffer.byteLength < bytesMax;
    if (this.#end < this.#buffer.byteLength && !(this.#wasFull && isShort)) return;
    if (this.#start === 0) this.#replace(longerBuffer(this.#buffer.byteLength, bytesMax));
    else {
      this.#buffer.copyWithin(0, this.#start, this.#end);
      [this.#start, this.#end] = [0, this.length];
    }
  }

  #replace(buffer: Uint8Array<ArrayBuffer>): void {
    const rest = this.peek();
    buffer.set(rest);
    const old = this.#buffer;
    this.#buffer = buffer;
    [this.#start, this.#end] = [0, rest.byteLength];
    if (old.byteLength === HTTP1_LIMITS.chunkedBufferBytes && spares.length < SPARE_COUNT_MAX) {
      spares.push(old);
    } else freeBytes(old);
  }

  #read(into: Uint8Array, came: (count: number) => void): void {
    this.#isReading = true;
    this.#wasFull = false;
    this.#bytes.read(into).then((count) => {
      this.#isReading = false;
      if (count === null) this.#hasEnded = true;
      else came(count);
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.resolve(count !== null);
    }, (error) => {
      this.#isReading = false;
      this.#hasEnded = true;
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.reject(error);
    });
  }
}

/** A whole buffer of at most `bytesMax`, longer than `length`. */
function longerBuffer(length: number, bytesMax: number): Uint8Array<ArrayBuffer> {
  const { chunkedBufferBytes } = HTTP1_LIMITS;
  if (bytesMax < chunkedBufferBytes) return new Uint8Array(Math.min(bytesMax, 4 * length));
  return spares.pop() ?? new Uint8Array(chunkedBufferBytes);
}
