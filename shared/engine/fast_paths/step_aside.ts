/** Says that a fast path leaves a statement to the scan, and why. */

/** The reason as EXPLAIN words it: `no fast path, because …`. */
export interface StepAside {
  readonly aside: string;
}

/**
 * Thrown within a rewriting to step aside; its message is the reason. It is no `Error`, since most
 * statements step aside and nobody looks at the stack, which takes a tenth of a millisecond.
 */
export class Aside {
  constructor(readonly message: string) {}
}
