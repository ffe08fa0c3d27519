/**
 * Who of several compactors does a piece of maintenance now: leases under names, by the catalog's
 * clock. They save work; that nothing is done twice does not rest on them but on the commits.
 */

/** Errors of all: `unavailable`, `permission_denied`, `corrupt`. */
export interface Leases {
  /**
   * Whether `name` is `token`'s for the next `leaseMs`: it was free, had run out, or is the token's
   * already.
   */
  take(name: string, token: string, leaseMs: number): Promise<boolean>;
  /** Ends the lease, if it is still the token's. */
  release(name: string, token: string): Promise<void>;
}
