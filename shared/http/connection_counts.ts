/** How many connections a listener has, and of whom. */

/** How many connections a listener has at a time; the next one is closed at once. */
export interface ConnectionBounds {
  readonly connectionsMax: number;
  /** The most connections of one address. An IPv6 client counts by its network of 64 bits. */
  readonly connectionsPerAddressMax: number;
}

/** Why a connection is closed at once. Values of the metrics' label `reason`. */
export const CONNECTION_REFUSALS = ["listener_full", "address_full"] as const;
export type ConnectionRefusal = typeof CONNECTION_REFUSALS[number];

export class ConnectionCounts {
  readonly #bounds: ConnectionBounds;
  readonly #ofAddress = new Map<string, number>();
  #all = 0;

  constructor(bounds: ConnectionBounds) {
    this.#bounds = bounds;
  }

  get connections(): number {
    return this.#all;
  }

  /**
   * Counts one more of `address`, or says why it may not be. A replacement is for a connection that
   * was closed and still ends; nothing refuses it.
   */
  enter(address: string, { isReplacement = false } = {}): ConnectionRefusal | undefined {
    const key = networkOf(address);
    const count = this.#ofAddress.get(key) ?? 0;
    if (!isReplacement) {
      if (count >= this.#bounds.connectionsPerAddressMax) return "address_full";
      if (this.#all >= this.#bounds.connectionsMax) return "listener_full";
    }
    this.#ofAddress.set(key, count + 1);
    this.#all += 1;
    return undefined;
  }

  leave(address: string): void {
    const key = networkOf(address);
    const count = this.#ofAddress.get(key) ?? 1;
    if (count > 1) this.#ofAddress.set(key, count - 1);
    else this.#ofAddress.delete(key);
    this.#all -= 1;
  }
}

/** The address of IPv4; of IPv6 the first 64 bits, of which one host may have all the others. */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = "", tail] = address.split("%")[0]?.split("::") ?? [];
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined
    ? []
    : new Array(Math.max(0, 8 - first.length - last.length)).fill("0");
  return [...first, ...zeros, ...last].slice(0, 4).join(":");
}
