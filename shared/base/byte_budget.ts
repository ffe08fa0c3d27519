/**
 * How many body bytes a process holds for requests in flight: past the budget requests are refused.
 */

import { assert } from "./assert.ts";
import { formatBytes } from "./bytes.ts";
import { OperatingError } from "./errors.ts";

/**
 * Counts the bytes that all holds have together, and refuses what would pass `bytesMax`.
 *
 * A budget that owners share leaves each of them room. Several holds of one owner get at most half
 * of what the other owners leave, and an owner's only hold gets whatever is free.
 */
export class ByteBudget {
  readonly bytesMax: number;
  /** Bytes of each owner that holds some; undefined where owners are not told apart. */
  readonly #owned: Map<string, number> | undefined;
  #used = 0;

  /** `isShared`: whether owners are strangers to each other, as tenants are. */
  constructor(bytesMax: number, { isShared = false } = {}) {
    this.bytesMax = bytesMax;
    this.#owned = isShared ? new Map() : undefined;
  }

  /** Bytes held now. */
  get used(): number {
    return this.#used;
  }

  /** A hold of nothing; dispose it when the request is done. */
  hold(owner?: string): ByteHold {
    return new ByteHold(this, owner);
  }

  /**
   * `held`: what the same hold has already. Errors: `unavailable` when `bytes` more would pass the
   * budget, or the owner's part of it.
   */
  take(bytes: number, { owner, held }: Holding = NOBODYS): void {
    if (this.#used + bytes > this.bytesMax) {
      throw noRoom(
        `requests in flight hold ${this.#used} of ${this.bytesMax} body bytes, ` +
          `${bytes} more do not fit: send again shortly`,
      );
    }
    const owned = this.#ownedBy(owner);
    const part = Math.floor((this.bytesMax - this.#used + owned) / 2);
    if (owned > held && owned + bytes > part) {
      throw noRoom(
        `requests of this tenant in flight hold ${owned} of the ${part} body bytes that they may ` +
          `hold now, ${bytes} more do not fit: send fewer at a time, or again shortly`,
      );
    }
    this.#add(bytes, owner);
  }

  give(bytes: number, owner?: string): void {
    this.#add(-bytes, owner);
  }

  #add(bytes: number, owner: string | undefined): void {
    this.#used += bytes;
    if (owner === undefined || this.#owned === undefined) return;
    const left = this.#ownedBy(owner) + bytes;
    if (left === 0) this.#owned.delete(owner);
    else this.#owned.set(owner, left);
  }

  #ownedBy(owner: string | undefined): number {
    return owner === undefined ? 0 : this.#owned?.get(owner) ?? 0;
  }
}

interface Holding {
  readonly owner: string | undefined;
  readonly held: number;
}

const NOBODYS: Holding = { owner: undefined, held: 0 };

function noRoom(why: string): OperatingError {
  return new OperatingError("unavailable", why, { reason: "bodies_in_flight", retryAfterSecs: 1 });
}

/** A budget of which no more than this share is held is ample. */
const AMPLE_SHARE = 1 / 4;

/** One request's share of a `ByteBudget`. */
export class ByteHold implements Disposable {
  readonly #budget: ByteBudget;
  #held = 0;
  /** What `reserve` took and `grow` did not use yet; part of `#held`. */
  #reserved = 0;
  #owner: string | undefined;

  constructor(budget: ByteBudget, owner: string | undefined) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** Says whose it is, once that is known: before it takes anything. */
  belongTo(owner: string): void {
    assert(this.#held === 0, "a hold that has taken nothing gets an owner");
    this.#owner = owner;
  }

  /** Errors: those of `take`; `too_large` for a request that fits into no budget, however empty. */
  grow(bytes: number): void {
    const used = Math.min(bytes, this.#reserved);
    const more = bytes - used;
    if (this.#held + more > this.#budget.bytesMax) throw tooLargeAlone(this.#budget.bytesMax);
    this.#budget.take(more, { owner: this.#owner, held: this.#held });
    this.#held += more;
    this.#reserved -= used;
  }

  /**
   * Takes ahead what `grow` is expected to ask for. With what it has already that is at most half
   * of the budget: two of the largest requests fit. So a request that has begun gets to its end,
   * instead of being refused beside others that are as far as it is. Errors: those of `take`.
   */
  reserve(bytes: number): void {
    const room = Math.floor(this.#budget.bytesMax / 2) - this.#held;
    const taken = Math.max(0, Math.min(bytes, room));
    this.#budget.take(taken, { owner: this.#owner, held: this.#held });
    this.#held += taken;
    this.#reserved += taken;
  }

  /** Gives back what was reserved and not used. */
  settle(): void {
    const unused = this.#reserved;
    this.#reserved = 0;
    this.shrink(unused);
  }

  /** Whether much of the budget is left beside all requests' holds. */
  get isAmple(): boolean {
    return this.#budget.used <= AMPLE_SHARE * this.#budget.bytesMax;
  }

  /** Gives back some of what `grow` took. */
  shrink(bytes: number): void {
    assert(bytes <= this.#held, "a hold gives back no more than it took");
    this.#budget.give(bytes, this.#owner);
    this.#held -= bytes;
  }

  [Symbol.dispose](): void {
    this.#budget.give(this.#held, this.#owner);
    this.#held = this.#reserved = 0;
  }
}

function tooLargeAlone(bytesMax: number): OperatingError {
  return new OperatingError(
    "too_large",
    `this request with all that is made of it needs more than the ${
      formatBytes(bytesMax)
    } that all requests in ` +
      "flight may hold together: send smaller ones",
    { reason: "bodies_in_flight" },
  );
}
