/**
 * Who may reserve how much of the memory budget, and who is next. The ledger only decides: it has
 * no clock and no promises.
 *
 * Never more than the budget is reserved. Tenants go one after the other, and a tenant's own
 * requests keep their order. The request that is next stays next until it fits. Nothing smaller
 * passes it, so a big one is not starved. While anybody waits, the first in line does not fit.
 */

import { assert } from "../../shared/base/assert.ts";
import { TurnQueue } from "../../shared/base/turn_queue.ts";

/** One request's wish, known by its object identity. */
export interface Ticket {
  readonly tenant: string;
  readonly bytes: number;
}

/** Bytes that may be reserved, and requests that may wait. */
export interface LedgerLimits {
  readonly budgetBytes: number;
  readonly waitersMax: number;
  readonly waitersPerTenantMax: number;
}

/** The ledger of one memory budget. No method waits or throws for want of room. */
export class AdmissionLedger {
  readonly #limits: LedgerLimits;
  readonly #line = new TurnQueue<Ticket>();
  /** Bytes by tenant, for tenants that reserve something. */
  readonly #reservedOf = new Map<string, number>();
  #reservedBytes = 0;

  constructor(limits: LedgerLimits) {
    this.#limits = limits;
  }

  get reservedBytes(): number {
    return this.#reservedBytes;
  }

  get waiting(): number {
    return this.#line.size;
  }

  /** What one tenant reserves, and how many of its requests wait. */
  of(tenant: string): { readonly reservedBytes: number; readonly waiting: number } {
    return {
      reservedBytes: this.#reservedOf.get(tenant) ?? 0,
      waiting: this.#line.sizeOf(tenant),
    };
  }

  /**
   * Asks for a reservation: `granted` at once, `waiting` until a later `give` or `leave` names it,
   * or `full` when there is no place in line.
   */
  ask(ticket: Ticket): "granted" | "waiting" | "full" {
    const { budgetBytes, waitersMax, waitersPerTenantMax } = this.#limits;
    assert(ticket.bytes <= budgetBytes, "a reservation fits into the whole budget");
    if (this.#line.size === 0 && this.#fits(ticket)) {
      this.#add(ticket.tenant, ticket.bytes);
      return "granted";
    }
    if (
      this.#line.size >= waitersMax || this.#line.sizeOf(ticket.tenant) >= waitersPerTenantMax
    ) return "full";
    this.#line.push(ticket.tenant, ticket);
    return "waiting";
  }

  /** Gives a granted reservation back. Returns the requests that are granted by that. */
  give(ticket: Ticket): Ticket[] {
    this.#add(ticket.tenant, -ticket.bytes);
    assert(this.#reservedBytes >= 0, "only what was reserved is given back");
    return this.#grant();
  }

  /** Takes a waiting request out of the line. Returns the requests that are granted by that. */
  leave(ticket: Ticket): Ticket[] {
    this.#line.remove(ticket.tenant, ticket);
    return this.#grant();
  }

  #fits(ticket: Ticket): boolean {
    return this.#reservedBytes + ticket.bytes <= this.#limits.budgetBytes;
  }

  #grant(): Ticket[] {
    const granted: Ticket[] = [];
    for (let next = this.#line.peek(); next !== undefined; next = this.#line.peek()) {
      if (!this.#fits(next)) break;
      this.#line.shift();
      this.#add(next.tenant, next.bytes);
      granted.push(next);
    }
    return granted;
  }

  #add(tenant: string, bytes: number): void {
    this.#reservedBytes += bytes;
    const reserved = (this.#reservedOf.get(tenant) ?? 0) + bytes;
    if (reserved === 0) this.#reservedOf.delete(tenant);
    else this.#reservedOf.set(tenant, reserved);
  }
}
