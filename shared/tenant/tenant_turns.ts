/** Whose turn it is where work of many tenants is done one turn after another. */

import { firstOfEach, interleaved } from "./interleaved.ts";

/** What has turns, again and again. */
export interface TurnTaker {
  /** When it had its last turn. */
  turnMs: number;
}

/** Tenants take turns, then what each tenant has: whoever waited longest comes first. */
export class TenantTurns<T extends TurnTaker> {
  readonly #tenantOf: (waiting: T) => string;
  /** When each tenant had its last turn. */
  readonly #lastMs = new Map<string, number>();

  constructor(tenantOf: (waiting: T) => string) {
    this.#tenantOf = tenantOf;
  }

  /** Its turn begins. */
  begin(waiting: T, nowMs: number): void {
    waiting.turnMs = nowMs;
    this.#lastMs.set(this.#tenantOf(waiting), nowMs);
  }

  /** One of each tenant, then a second one of each, and so on. */
  inOrder(due: readonly T[]): T[] {
    return interleaved(this.#longestWaiting(due), this.#tenantOf);
  }

  /** The first one of each tenant. */
  firstOfEach(due: readonly T[]): T[] {
    return firstOfEach(this.#longestWaiting(due), this.#tenantOf);
  }

  #longestWaiting(due: readonly T[]): T[] {
    const tenantMs = (waiting: T) => this.#lastMs.get(this.#tenantOf(waiting)) ?? 0;
    return due.toSorted((a, b) => tenantMs(a) - tenantMs(b) || a.turnMs - b.turnMs);
  }
}
