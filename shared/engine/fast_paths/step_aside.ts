/** That a fast path leaves a statement to the scan, and why. */

/** What EXPLAIN says of it: `no fast path, because …`. */
export interface StepAside {
  readonly aside: string;
}

/** The same, from within a rewriting; its message is the reason. */
export class Aside extends Error {}
