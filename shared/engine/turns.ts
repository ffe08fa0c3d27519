/**
 * Who may use the SQL engine now. Light turns are for planning and for running what is cheap; dear turns, which are few,
 * are for running what takes all cores for long; batch turns are as many, for what may take hours. Each kind has a line of its own in which tenants take turns, so that
 * no cheap statement waits for a dear one to end.
 */

import type { OperatingError } from "../base/errors.ts";
import {
  DEAR_STATEMENTS_MAX,
  DEAR_STATEMENTS_MIN,
  LIGHT_STATEMENTS_MIN,
  LIGHT_STATEMENTS_PER_CORE,
} from "./limits.ts";
import { type PlaceInLine, Waiters } from "./waiters.ts";

export const TURN_KINDS = ["light", "dear", "batch"] as const;
export type TurnKind = typeof TURN_KINDS[number];

/** How many there are of each kind. */
export type TurnCounts = Readonly<Record<TurnKind, number>>;

export function turnsFor(cores: number): TurnCounts {
  const dear = Math.min(Math.max(DEAR_STATEMENTS_MIN, cores), DEAR_STATEMENTS_MAX);
  return {
    light: Math.max(LIGHT_STATEMENTS_MIN, LIGHT_STATEMENTS_PER_CORE * cores),
    dear,
    batch: dear,
  };
}

/** Disposing it, more than once too, lets the next one in. */
export type Turn = Disposable;

export class Turns {
  readonly #free: Readonly<Record<TurnKind, Waiters<TurnKind>>> = {
    light: new Waiters(),
    dear: new Waiters(),
    batch: new Waiters(),
  };

  constructor(counts: TurnCounts) {
    for (const kind of TURN_KINDS) {
      for (let at = 0; at < counts[kind]; at += 1) this.#free[kind].give(kind);
    }
  }

  /** Errors: those of `Waiters.take`. */
  async take(kind: TurnKind, signal: AbortSignal, line?: PlaceInLine): Promise<Turn> {
    const free = this.#free[kind];
    await free.take(signal, line);
    let held = true;
    return {
      [Symbol.dispose]() {
        if (held) free.give(kind);
        held = false;
      },
    };
  }

  waiting(kind: TurnKind): number {
    return this.#free[kind].size;
  }

  /** Turns everybody away, now and later. */
  close(error: OperatingError): void {
    for (const kind of TURN_KINDS) this.#free[kind].close(error);
  }
}
