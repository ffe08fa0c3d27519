/**
 * What a loop logs about work that fails again and again, perhaps for many lanes or tables at a
 * time, as when a store is away. It logs the first failure at once, a line a minute that counts
 * further ones, and a line for a failure of another kind. One line says when all works again.
 */

import type { Logger } from "@logtape/logtape";
import { counted } from "../base/counted.ts";
import { isOperatingError, placedMessageOf } from "../base/errors.ts";
import type { Clock } from "../os/clock.ts";

const INTERVAL_MS = 60_000;
/** Kinds of failures that get a line of their own between two counts. */
const KINDS_MAX = 8;

export interface FailureLogOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly log: Logger;
  /** The message of the line that says that it is over: `drains work again`. */
  readonly over: string;
}

export class FailureLog {
  readonly #options: FailureLogOptions;
  readonly #failing = new Set<string>();
  #kinds = new Set<string>();
  /** How many failures there were since they began. */
  #count = 0;
  #sinceMs = 0;
  #toldMs = -Infinity;
  /** Whether the beginning was logged: then the end is, too. */
  #isTold = false;

  constructor(options: FailureLogOptions) {
    this.#options = options;
  }

  /**
   * `subject` is one of those that may fail; `what` says what of it did, behind "cannot": `drain
   * lane default/events`.
   */
  failed(subject: string, what: string, thrown: unknown): void {
    const { clock, log } = this.#options;
    const nowMs = clock.monotonicMs();
    if (this.#failing.size === 0) {
      [this.#sinceMs, this.#count, this.#isTold] = [nowMs, 0, false];
    }
    this.#failing.add(subject);
    this.#count += 1;
    const isDue = nowMs - this.#toldMs >= INTERVAL_MS;
    if (isDue) this.#kinds = new Set();
    const kind = kindOf(thrown);
    const error = placedMessageOf(thrown);
    if (!isDue && (this.#kinds.has(kind) || this.#kinds.size >= KINDS_MAX)) return;
    this.#kinds.add(kind);
    if (isDue) this.#toldMs = nowMs;
    this.#isTold = true;
    if (this.#count === 1) {
      log.error("cannot {what}, it is tried again until it works: {error}", { what, error });
      return;
    }
    log.error("cannot {what}: {error}; {attempts} at {failing} in {secs} s failed so far", {
      what,
      error,
      attempts: counted(this.#count, "attempt"),
      failing: this.#failing.size === 1 ? "it" : `${this.#failing.size} such tasks`,
      secs: Math.round((nowMs - this.#sinceMs) / 1_000),
    });
  }

  /** It works, or is not there any more. */
  worked(subject: string): void {
    if (!this.#failing.delete(subject) || this.#failing.size > 0 || !this.#isTold) return;
    const { clock, log, over } = this.#options;
    log.info("{over}, after {attempts} that failed in {secs} s", {
      over,
      attempts: counted(this.#count, "attempt"),
      secs: Math.round((clock.monotonicMs() - this.#sinceMs) / 1_000),
    });
  }

  /** Counts subjects that are not among `subjects` as working: they no longer exist. */
  keep(subjects: ReadonlySet<string>): void {
    for (const subject of this.#failing) if (!subjects.has(subject)) this.worked(subject);
  }
}

function kindOf(error: unknown): string {
  if (isOperatingError(error)) return `${error.code} ${error.reason ?? ""}`;
  return error instanceof Error ? error.name : typeof error;
}
