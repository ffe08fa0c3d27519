/**
 * Follows the rows that a search finds: `svc search --tail`. A connection that is lost is made
 * again, and goes on behind the last event. What people should know stands on stderr.
 */

import { counted } from "../../shared/base/counted.ts";
import { isOperatingError, messageOf, OperatingError } from "../../shared/base/errors.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { TextOutput } from "../console.ts";
import type { JsonValue } from "../sql/exact_json.ts";
import type { SqlClient } from "../sql/client.ts";
import { printable } from "../sql/display_width.ts";
import { type TailEvent, tailMessages } from "./tail_events.ts";

/** What is followed, and who is told. */
export interface FollowOptions {
  readonly client: Pick<SqlClient, "tail">;
  /** Parameters of `GET /api/v1/tail`. */
  readonly params: URLSearchParams;
  readonly notes: TextOutput;
  readonly clock: Clock;
  /** Aborts when the user has enough. */
  readonly signal: AbortSignal;
  /** Is called once the first connection stands; rows that come then are not missed. */
  readonly onOpen: () => Promise<void>;
  readonly onRows: (
    columns: readonly string[],
    rows: readonly (readonly JsonValue[])[],
  ) => Promise<void>;
}

const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 10_000;
/** A server says something each 15 s. */
const SILENCE_MS_MAX = 45_000;
const SILENT = "the server is silent";
/** Notes of skipped rows come so often at most. */
const SKIPPED_NOTE_MS = 1_000;

/**
 * Follows until `signal` aborts. Errors: of the first connection, whatever it fails by; later those
 * that another try does not mend; those of `onOpen` and `onRows`.
 */
export async function followRows(options: FollowOptions): Promise<void> {
  await new Following(options).run();
}

class Following {
  readonly #options: FollowOptions;
  #lastId: string | undefined;
  #isOpen = false;
  #retryMs = RETRY_MS_MIN;
  #skipped = 0;
  #skippedNoteMs = -Infinity;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { signal, clock, notes } = this.#options;
    let isLost = false;
    while (!signal.aborted) {
      const why = await this.#connection(async () => {
        if (isLost) await notes.write("svc: connected again\n");
        isLost = false;
      });
      if (signal.aborted) break;
      if (!isLost) await notes.write(`svc: the connection is lost: ${why}; trying again\n`);
      isLost = true;
      await clock.sleep(this.#retryMs, { signal }).catch(() => {});
      this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX);
    }
    await this.#noteSkipped(0, true);
  }

  /** One connection; why it ended. */
  async #connection(onConnected: () => Promise<void>): Promise<string> {
    const { client, params, signal } = this.#options;
    const connection = new AbortController();
    const leave = () => connection.abort(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const listen = () => {
      clearTimeout(timer);
      timer = setTimeout(() => connection.abort(new Error(SILENT)), SILENCE_MS_MAX);
    };
    try {
      listen();
      const body = await client.tail(params, { lastId: this.#lastId, signal: connection.signal });
      await onConnected();
      for await (const message of tailMessages(body, connection.signal)) {
        listen();
        if (message.kind === "sign") continue;
        const end = await this.#take(message.event);
        if (end !== undefined) return end;
        // What was written counts as read.
        this.#lastId = message.id ?? this.#lastId;
      }
      return connection.signal.aborted ? SILENT : "the server closed it";
    } catch (error) {
      if (signal.aborted) return "";
      if (!this.#isOpen || !isLostConnection(error)) throw error;
      return connection.signal.aborted ? SILENT : messageOf(error);
    } finally {
      signal.removeEventListener("abort", leave);
      clearTimeout(timer);
    }
  }

  /** Why the connection is over; undefined: it goes on. */
  async #take(event: TailEvent): Promise<string | undefined> {
    const { notes, onOpen, onRows } = this.#options;
    this.#retryMs = RETRY_MS_MIN;
    switch (event.kind) {
      case "rows":
        if (!this.#isOpen) {
          this.#isOpen = true;
          await onOpen();
        }
        if (event.rows.length > 0) await onRows(event.columns, event.rows);
        await this.#noteSkipped(event.skipped, false);
        return undefined;
      case "lost": {
        const { rows, reason } = event;
        const count = rows === undefined ? "rows may be missing" : `${counted(rows, "row")} passed`;
        await notes.write(`svc: ${count}: ${LOST[reason] ?? printable(reason)}\n`);
        return undefined;
      }
      case "end":
        if (event.reason === "server_stopping") return "the server is stopping";
        throw new OperatingError("unavailable", `Cannot go on: ${printable(event.error)}`, {
          reason: "tail_ended",
        });
    }
  }

  async #noteSkipped(rows: number, isLast: boolean): Promise<void> {
    this.#skipped += rows;
    const { notes, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#skipped === 0 || (!isLast && nowMs - this.#skippedNoteMs < SKIPPED_NOTE_MS)) return;
    await notes.write(
      `svc: ${
        counted(this.#skipped, "row")
      } skipped: more come than are shown; narrow the search\n`,
    );
    this.#skipped = 0;
    this.#skippedNoteMs = nowMs;
  }
}

const LOST: Readonly<Record<string, string>> = {
  slow_reader: "they came faster than they were read",
  position_expired: "they are not kept for so long, or cannot be told from those before",
};

/** What the runtime throws for a body that breaks off. */
const LOST_BY = new Set([
  "TypeError",
  "ConnectionReset",
  "ConnectionAborted",
  "Http",
  "UnexpectedEof",
]);

/** Another try may mend it. What the server refuses stays refused. */
function isLostConnection(error: unknown): boolean {
  if (isOperatingError(error)) {
    return error.reason !== "tail_ended" &&
      (error.code === "unavailable" || error.code === "rate_limited" ||
        error.code === "cancelled");
  }
  return error instanceof Error && LOST_BY.has(error.name);
}
