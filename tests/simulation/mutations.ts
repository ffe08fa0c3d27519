/** Deliberate defects of the product's surroundings: each must be found. */

export const MUTATIONS = [
  /** `fdatasync` does nothing. */
  "unsynced bytes",
  /** `fsync` of a directory does nothing. */
  "unsynced names",
  /** A drain's commit does not record, nor check, which segments it took. */
  "segments not claimed",
  /** The catalog's commit does not look at the pointer. */
  "pointer not compared",
  /** What nothing names is an orphan however young it is. */
  "young orphans",
  /** A commit that carries a delete task out does not look whether its claim holds. */
  "task not claimed",
] as const;

export type Mutation = (typeof MUTATIONS)[number];
