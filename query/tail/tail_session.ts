/**
 * One tail while it is read: from a position of its table to the next, one event each. It is
 * pulled: while a reader takes nothing, nothing is read for it, and its place in the table is all
 * that it holds. A reader that stays behind for `LAG_MS_MAX` is told how many rows lie between, and
 * goes on at the end.
 */

import { messageOf } from "../../shared/base/errors.ts";
import { encodePosition, type FollowPosition } from "../../shared/engine/follow/follow_position.ts";
import type { FollowedRows, TableFollower } from "../../shared/engine/types.ts";
import { asOperatingError } from "../../shared/http/error_response.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { QueryMetrics } from "../metrics/metrics.ts";
import { endEvent, KEEP_ALIVE, lostEvent, RETRY, rowsEvent } from "./tail_event.ts";
import { isPassing, type StepRows, stepRows, type TailStatements } from "./tail_rows.ts";

/** What a tail is made of. */
export interface TailParts {
  readonly follower: TableFollower;
  readonly statements: TailStatements;
  readonly columns: readonly string[];
  readonly position: FollowPosition;
  readonly rowsPerSecMax: number;
  /** Aborts when the server stops; the reader is told. */
  readonly stopping: AbortSignal;
  /** When the caller's token ends, Unix milliseconds; undefined: it does not. */
  readonly expiresMs: number | undefined;
  readonly clock: Clock;
  readonly metrics: QueryMetrics;
  /** Is told of each row that was sent. */
  readonly onSent: (rows: number) => void;
}

/** A look at the table each so often, and the least between two statements. */
const POLL_MS = 250;
const KEEP_ALIVE_MS = 15_000;
const LAG_MS_MAX = 10_000;
const RETRY_MS = 1_000;

type Event = Uint8Array<ArrayBuffer>;

/** The events of a tail, until it ends by itself. Errors: bugs. */
export class TailSession {
  readonly #parts: TailParts;
  #position: FollowPosition;
  #sentId: string;
  #sentMs: number;
  /** When it last was at the end of the table. */
  #caughtUpMs: number;
  #rate: { secondMs: number; rows: number };

  constructor(parts: TailParts) {
    this.#parts = parts;
    this.#position = parts.position;
    this.#sentId = "";
    const nowMs = parts.clock.monotonicMs();
    this.#sentMs = nowMs;
    this.#caughtUpMs = nowMs;
    this.#rate = { secondMs: nowMs, rows: 0 };
  }

  async *events(): AsyncGenerator<Event, undefined> {
    yield RETRY;
    yield this.#rowsEvent(NO_ROWS);
    while (!this.#parts.statements.signal.aborted) {
      const end = this.#end();
      if (end !== undefined) {
        yield endEvent(end);
        return;
      }
      let event: Event | undefined;
      try {
        event = await this.#next();
      } catch (error) {
        if (this.#isOver()) continue;
        if (!isPassing(error)) {
          const { reason = "failed", message } = asOperatingError(error);
          yield endEvent({ reason, error: message });
          return;
        }
        await this.#sleep(RETRY_MS);
      }
      event ??= this.#idleEvent();
      if (event === undefined) continue;
      this.#sentMs = this.#nowMs();
      yield event;
    }
  }

  /** The next event, after a pause where there is none. */
  async #next(): Promise<Event | undefined> {
    const { follower } = this.#parts;
    const begunMs = this.#nowMs();
    if (begunMs - this.#caughtUpMs > LAG_MS_MAX) return await this.#skipToEnd();
    const found = await follower.next(this.#position);
    if (found.kind === "rows") {
      using _step = found;
      const event = await this.#stepEvent(found);
      if (found.isLast) await this.#caughtUp(begunMs);
      return event;
    }
    this.#position = found.position;
    if (found.kind === "lost") return this.#lostEvent(null, "position_expired");
    await this.#caughtUp(begunMs);
    return undefined;
  }

  async #stepEvent(
    { step, rows: rowsOfStep, position }: Extract<FollowedRows, { readonly kind: "rows" }>,
  ): Promise<Event | undefined> {
    const rows = await stepRows(this.#parts.statements, step, this.#rowsLeft());
    this.#position = position;
    if (rows === undefined) return this.#lostEvent(rowsOfStep, "position_expired");
    if (rows.sent + rows.skipped === 0) return undefined;
    this.#rate.rows += rows.sent;
    return this.#rowsEvent(rows);
  }

  /** Passes over what lies between the reader and the end. */
  async #skipToEnd(): Promise<Event | undefined> {
    let lost = 0;
    for (;;) {
      const found = await this.#parts.follower.next(this.#position);
      this.#position = found.position;
      // Nobody knows how many of the rows before are among these.
      if (found.kind === "lost") return this.#lostEvent(null, "position_expired");
      if (found.kind !== "rows") break;
      using _step = found;
      lost += found.rows;
      if (found.isLast || this.#isOver()) break;
    }
    this.#caughtUpMs = this.#nowMs();
    return lost === 0 ? undefined : this.#lostEvent(lost, "slow_reader");
  }

  /** Rows that may still be sent in this second. */
  #rowsLeft(): number {
    const nowMs = this.#nowMs();
    if (nowMs - this.#rate.secondMs >= 1_000) this.#rate = { secondMs: nowMs, rows: 0 };
    return Math.max(0, this.#parts.rowsPerSecMax - this.#rate.rows);
  }

  #rowsEvent({ columns, parts, sent, skipped }: StepRows): Event {
    const { metrics, onSent } = this.#parts;
    metrics.tailRows.at({ fate: "sent" }).add(sent);
    metrics.tailRows.at({ fate: "skipped" }).add(skipped);
    onSent(sent);
    const id = this.#id();
    const names = columns.length > 0 ? columns : this.#parts.columns;
    return rowsEvent({ columns: names, parts, skipped, id });
  }

  #lostEvent(rows: number | null, reason: "slow_reader" | "position_expired"): Event {
    this.#parts.metrics.tailRows.at({ fate: "lost" }).add(rows ?? 0);
    return lostEvent({ rows, reason, id: this.#id() });
  }

  /** After a while without rows: a comment, or where the tail is by now. */
  #idleEvent(): Event | undefined {
    if (this.#nowMs() - this.#sentMs < KEEP_ALIVE_MS) return undefined;
    return encodePosition(this.#position) === this.#sentId ? KEEP_ALIVE : this.#rowsEvent(NO_ROWS);
  }

  #id(): string {
    this.#sentId = encodePosition(this.#position);
    return this.#sentId;
  }

  async #caughtUp(begunMs: number): Promise<void> {
    this.#caughtUpMs = this.#nowMs();
    await this.#sleep(POLL_MS - (this.#nowMs() - begunMs));
  }

  /** Why the tail ends; undefined: it goes on. */
  #end(): { readonly reason: string; readonly error: string } | undefined {
    const { stopping, expiresMs, clock } = this.#parts;
    if (stopping.aborted) {
      return {
        reason: "server_stopping",
        error: "This server is stopping: connect again with the last event's id",
      };
    }
    if (expiresMs === undefined || clock.nowMs() < expiresMs) return undefined;
    return {
      reason: "token_expired",
      error: "The token has expired: connect again with a new one and the last event's id",
    };
  }

  #isOver(): boolean {
    return this.#parts.stopping.aborted || this.#parts.statements.signal.aborted;
  }

  #nowMs(): number {
    return this.#parts.clock.monotonicMs();
  }

  async #sleep(ms: number): Promise<void> {
    if (ms <= 0) return;
    const { stopping, statements } = this.#parts;
    const signal = AbortSignal.any([stopping, statements.signal]);
    await this.#parts.clock.sleep(ms, { signal }).catch((error) => {
      if (!this.#isOver()) throw new Error(`a pause failed: ${messageOf(error)}`);
    });
  }
}

const NO_ROWS: StepRows = { columns: [], parts: [], sent: 0, skipped: 0 };
