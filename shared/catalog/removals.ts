/**
 * Files that no snapshot has any more, and when they may go: a statement that began before may
 * still read them.
 *
 * Invariant: a file is entered before the commit that makes it needless, so none is forgotten. What
 * is entered can still be needed, when that commit did not come about, so a removal looks first.
 */

/** Errors of all: `unavailable`, `permission_denied`, `corrupt`. */
export interface Removals {
  /**
   * Enters `keys`, to go in `graceMs` by the catalog's clock; of two times the later one counts.
   */
  enter(folder: string, keys: readonly string[], graceMs: number): Promise<void>;
  /**
   * The oldest `max` of `folder` whose time has come, and that no long read (`LongReads`) began
   * before they were entered. `graceMs`: what they were entered with, or less.
   */
  due(
    folder: string,
    options: { readonly max: number; readonly graceMs: number },
  ): Promise<readonly string[]>;
  /** All that are entered of `folder`, due or not. */
  entered(folder: string): Promise<ReadonlySet<string>>;
  forget(keys: readonly string[]): Promise<void>;
}
