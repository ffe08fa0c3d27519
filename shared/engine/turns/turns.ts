/**
 * Scheduler slots: who may use DuckDB now. Slots for cheap statements (`light`) are for planning
 * and for running what is cheap. Slots for expensive statements (`dear`), which are few, are for
 * running what takes all cores for long. Batch jobs have as many slots, for what may take hours. So
 * have shards of statements that other servers share. A shard waits for nothing but other shards,
 * and a statement that waits for shards holds no slot. Each kind has a line of its own in which
 * tenants go one after the other, so that no cheap statement waits for an expensive one to end.
 *
 * Once a second tenant has asked, a tenant that has all other slots of a kind does not get the last
 * free one. A statement can hold its slot for as long as its deadline, and somebody else's must not
 * wait for that. A server of one tenant has all slots.
 */

import type { OperatingError } from "../../base/errors.ts";
import {
  DEAR_STATEMENTS_MAX,
  DEAR_STATEMENTS_MIN,
  LIGHT_STATEMENTS_MIN,
  LIGHT_STATEMENTS_PER_CORE,
} from "../limits.ts";
import { type PlaceInLine, Waiters } from "./waiters.ts";

export const TURN_KINDS = ["light", "dear", "batch", "shard"] as const;
export type TurnKind = typeof TURN_KINDS[number];

/** How many slots there are of each kind. */
export type TurnCounts = Readonly<Record<TurnKind, number>>;

/** How many slots a machine with so many cores has. */
export function turnsFor(cores: number): TurnCounts {
  const dear = Math.min(Math.max(DEAR_STATEMENTS_MIN, cores), DEAR_STATEMENTS_MAX);
  return {
    light: Math.max(LIGHT_STATEMENTS_MIN, LIGHT_STATEMENTS_PER_CORE * cores),
    dear,
    batch: dear,
    shard: dear,
  };
}

/** Begins a key of the server's own work, which is no tenant's. */
const OWN = "\0";

/** Disposing it gives the slot to the next one. Disposing it again does nothing. */
export type Turn = Disposable;

/** The slots of one server. */
export class Turns {
  readonly #free: Readonly<Record<TurnKind, Waiters<TurnKind>>>;
  /** The first two tenants that asked. What the server does by itself is nobody's. */
  readonly #tenants = new Set<string>();

  constructor(counts: TurnCounts) {
    const waiters = (kind: TurnKind) =>
      new Waiters<TurnKind>((tenant, held) =>
        isOwn(tenant) || this.#tenants.size < 2 || counts[kind] < 2 || held < counts[kind] - 1
      );
    this.#free = {
      light: waiters("light"),
      dear: waiters("dear"),
      batch: waiters("batch"),
      shard: waiters("shard"),
    };
    for (const kind of TURN_KINDS) {
      for (let at = 0; at < counts[kind]; at += 1) this.#free[kind].give(kind);
    }
  }

  /** Waits for a slot. Errors: those of `Waiters.take`. */
  async take(kind: TurnKind, signal: AbortSignal, line?: PlaceInLine): Promise<Turn> {
    const free = this.#free[kind];
    const key = line?.key ?? "";
    if (!isOwn(key) && this.#tenants.size < 2) this.#tenants.add(key);
    await free.take(signal, line);
    let held = true;
    return {
      [Symbol.dispose]() {
        if (held) free.give(kind, key);
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

function isOwn(key: string): boolean {
  return key === "" || key.startsWith(OWN);
}
