/**
 * The readers of live rows, and what they are given: `GET /api/v1/stream`.
 *
 * It costs an append nothing while nobody listens: `isHeard` is a field. Rows become text before
 * `publish` returns, so that the batch may be released afterwards. They do so only for a tenant
 * with readers and only as long as one of them has room. Numbers of readers and their buffers are
 * bounded.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { ByteBuilder } from "../../shared/columns/byte_builder.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { eventWriterOf } from "./stream_event.ts";
import type { IngestMetrics } from "../metrics.ts";
import { STREAM_LIMITS } from "./stream_limits.ts";
import { StreamReader } from "./stream_reader.ts";

export interface StreamHubDeps {
  readonly clock: Clock;
  readonly metrics: Pick<IngestMetrics, "streamEvents" | "streamLagged" | "streamRefused">;
  /** Bytes of all readers' buffers together; default: `STREAM_LIMITS.readerBytesMax` each. */
  readonly bytesMax?: number;
}

export class StreamHub {
  /** Whether anybody listens. */
  isHeard = false;
  readonly #deps: StreamHubDeps;
  readonly #readers = new Map<string, Set<StreamReader>>();
  readonly #readerBytesMax: number;
  #count = 0;
  #stopped = false;

  constructor(deps: StreamHubDeps) {
    this.#deps = deps;
    const { bytesMax = Infinity } = deps;
    const { readersMax, readerBytesMax } = STREAM_LIMITS;
    this.#readerBytesMax = Math.min(readerBytesMax, Math.floor(bytesMax / readersMax));
  }

  /** What all readers' buffers hold now. */
  get bytes(): number {
    let bytes = 0;
    for (const readers of this.#readers.values()) {
      for (const reader of readers) bytes += reader.bytes;
    }
    return bytes;
  }

  /** How many listen now. */
  get readers(): number {
    return this.#count;
  }

  /** A reader of the rows of `tenant` that arrive from now on. Errors: `unavailable`. */
  open(tenant: string): StreamReader {
    const known = this.#readers.get(tenant) ?? new Set<StreamReader>();
    this.#requirePlace(tenant, known.size);
    const reader = new StreamReader({
      clock: this.#deps.clock,
      bytesMax: this.#readerBytesMax,
      keepAliveMs: STREAM_LIMITS.keepAliveMs,
      lastMsMax: STREAM_LIMITS.lastMsMax,
      onClose: (closed) => this.#forget(tenant, closed),
    });
    this.#readers.set(tenant, known.add(reader));
    this.#count += 1;
    this.isHeard = true;
    return reader;
  }

  /** Offers the rows to the tenant's readers, in order. Reads the batch only before it returns. */
  publish(tenant: string, batch: ColumnBatch): void {
    const readers = this.#readers.get(tenant);
    if (readers === undefined) return;
    const { metrics } = this.#deps;
    const keepUp = [...readers].filter((reader) => reader.offer(batch.rows));
    if (keepUp.length === 0) return;
    let open = keepUp;
    for (const { events, row, rows } of piecesOf(batch)) {
      open = open.filter((reader) => {
        if (reader.push(events)) return true;
        reader.miss(batch.rows - row);
        return false;
      });
      metrics.streamEvents.add(rows * open.length, {});
      if (open.length === 0) break;
    }
    metrics.streamLagged.add(keepUp.length - open.length, {});
  }

  /** Ends every stream behind what it has buffered, and refuses new ones. */
  stop(): void {
    this.#stopped = true;
    for (const readers of this.#readers.values()) readers.forEach((reader) => reader.end());
  }

  #requirePlace(tenant: string, ofTenant: number): void {
    const { readersMax, tenantReadersMax, retryAfterSecs } = STREAM_LIMITS;
    const refuse = (why: string, reason: string) => {
      this.#deps.metrics.streamRefused.add(1, {});
      return new OperatingError("unavailable", `cannot open a stream: ${why}`, {
        reason,
        retryAfterSecs,
      });
    };
    if (this.#stopped) throw refuse("this server is stopping", "stopping");
    if (ofTenant >= tenantReadersMax) {
      throw refuse(
        `tenant ${tenant} has its ${tenantReadersMax} here; close one or ask another server`,
        "stream_readers",
      );
    }
    if (this.#count >= readersMax) {
      throw refuse(
        `this server has its ${readersMax} readers; ask again or another server`,
        "stream_readers",
      );
    }
  }

  #forget(tenant: string, reader: StreamReader): void {
    const readers = this.#readers.get(tenant);
    if (readers?.delete(reader) !== true) return;
    if (readers.size === 0) this.#readers.delete(tenant);
    this.#count -= 1;
    this.isHeard = this.#count > 0;
  }
}

interface Piece {
  readonly events: Uint8Array;
  /** Its first row and their number. */
  readonly row: number;
  readonly rows: number;
}

/** Events of a batch, several at a time: a buffer for each would cost more than its bytes. */
function* piecesOf(batch: ColumnBatch): Generator<Piece> {
  const write = eventWriterOf(batch);
  const out = new ByteBuilder(STREAM_LIMITS.pieceBytes);
  let first = 0;
  for (let row = 0; row < batch.rows; row += 1) {
    write(out, row);
    if (out.length < STREAM_LIMITS.pieceBytes && row + 1 < batch.rows) continue;
    yield { events: out.take(), row: first, rows: row + 1 - first };
    first = row + 1;
  }
}
