/**
 * Statements that may read for longer than `REMOVAL_GRACE_MS`. While one is entered, no file goes
 * that a snapshot had when it began (`Removals.due`). Times are those of the catalog's clock.
 */

/** Errors of all: `unavailable`, `permission_denied`, `corrupt`. */
export interface LongReads {
  /**
   * Enters the statement `id`, or keeps it entered, for the next `leaseMs`. It counts as begun when
   * it was entered first: enter it before its snapshot is chosen.
   */
  hold(id: string, leaseMs: number): Promise<void>;
  end(id: string): Promise<void>;
}
