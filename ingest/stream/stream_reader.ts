/**
 * One reader of the stream: a bounded buffer between the rows that arrive and a connection that
 * takes them at its own speed.
 *
 * Once an event finds no room, nothing is added any more. The reader gets what was buffered, then
 * `lagged` with the number of events it missed until then, and the stream ends. One that does not
 * even read that in time is cut off. Memory: `bytesMax` and what is on its way into the connection,
 * more only for a single event that is larger. Readers of one tenant share the bytes.
 */

import { utf8 } from "../../shared/base/bytes.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import type { Clock } from "../../shared/os/clock.ts";

/** What a piece counts for besides its bytes, so that small ones are bounded too. */
const PIECE_BYTES = 128;

export interface StreamReaderOptions {
  readonly clock: Clock;
  readonly bytesMax: number;
  readonly keepAliveMs: number;
  /**
   * How long a reader may take for what is buffered when the stream ends, because it lags or at a
   * stop.
   */
  readonly lastMsMax: number;
  /** Called once, when nothing will be read any more. */
  readonly onClose: (reader: StreamReader) => void;
}

export class StreamReader {
  /** The response's body. */
  readonly body: ReadableStream<Uint8Array>;
  readonly #options: StreamReaderOptions;
  readonly #closed = new AbortController();
  #pieces: Uint8Array[] = [CONNECTED];
  #bytes = sizeOf(CONNECTED);
  #missed = 0;
  #ending = false;
  #wake: (() => void) | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(options: StreamReaderOptions) {
    this.#options = options;
    this.body = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
      pull: (controller) => this.#pull(controller),
      cancel: () => this.#release(),
    }, { highWaterMark: 0 });
  }

  /** What waits for the client. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether it takes events; one that lags misses all `rows`. */
  offer(rows: number): boolean {
    if (this.#lags) this.#missed += rows;
    return !this.#lags && !this.#ending;
  }

  /** Buffers whole events; false when there is no room for them. */
  push(events: Uint8Array): boolean {
    const bytes = sizeOf(events);
    if (this.#bytes > 0 && this.#bytes + bytes > this.#options.bytesMax) return false;
    this.#pieces.push(events);
    this.#bytes += bytes;
    this.#wake?.();
    return true;
  }

  /** From now on it lags: `rows` were the first it missed. */
  miss(rows: number): void {
    this.#missed += rows;
    this.#cutOffLate();
  }

  get #lags(): boolean {
    return this.#missed > 0;
  }

  /** Ends the stream behind what is buffered. */
  end(): void {
    if (this.#ending) return;
    this.#ending = true;
    this.#cutOffLate();
    this.#wake?.();
  }

  /** The other side is gone: what is left is for nobody. Idempotent. */
  leave(): void {
    if (this.#closed.signal.aborted) return;
    this.#controller?.close();
    this.#release();
  }

  #cutOff(): void {
    this.#controller?.error(
      new OperatingError("cancelled", "the stream was cut off: its reader is too slow"),
    );
    this.#release();
  }

  #release(): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    this.#ending = true;
    this.#pieces = [];
    this.#wake?.();
    this.#options.onClose(this);
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (this.#pieces.length === 0 && !this.#ending && !this.#lags) await this.#somethingToSay();
    if (this.#closed.signal.aborted) return;
    const piece = this.#pieces.shift();
    if (piece !== undefined) {
      this.#bytes -= sizeOf(piece);
      return controller.enqueue(piece);
    }
    if (!this.#ending && !this.#lags) return controller.enqueue(KEEP_ALIVE);
    if (this.#lags) controller.enqueue(laggedEvent(this.#missed));
    controller.close();
    this.#release();
  }

  /** Returns when there is an event or an end, and after `keepAliveMs` without. */
  async #somethingToSay(): Promise<void> {
    const idle = new AbortController();
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    const { clock, keepAliveMs } = this.#options;
    await Promise.race([woken, clock.sleep(keepAliveMs, { signal: idle.signal }).catch(ignore)]);
    this.#wake = undefined;
    idle.abort();
  }

  #cutOffLate(): void {
    const { clock, lastMsMax } = this.#options;
    clock.sleep(lastMsMax, { signal: this.#closed.signal }).then(() => this.#cutOff(), ignore);
  }
}

const CONNECTED = utf8(": connected\n\n");
const KEEP_ALIVE = utf8(": keep-alive\n\n");

function sizeOf(piece: Uint8Array): number {
  return piece.byteLength + PIECE_BYTES;
}

function laggedEvent(missed: number): Uint8Array {
  return utf8(`event: lagged\ndata: {"missed":${missed}}\n\n`);
}

function ignore(): void {}
