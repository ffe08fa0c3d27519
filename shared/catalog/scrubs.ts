/**
 * How far each table's files were verified, and which of them are damaged. So a scrub goes on where
 * it was after a restart, and on another machine. Tables are named by their folder, which is of one
 * incarnation.
 */

/** One pass over the files of a table; it is whole when `cursor` is empty. */
export interface ScrubPass {
  /** Unix milliseconds, as all times here. */
  readonly beganMs: number;
  /** Files up to this key were verified; undefined: all were. */
  readonly cursor: string | undefined;
  readonly files: number;
  readonly bytes: number;
  /** Files among them that have no checksums: of earlier versions and of other programs. */
  readonly unsummed: number;
  /** When the last pass began that is whole; undefined: none was. */
  readonly wholeMs: number | undefined;
}

/** A file whose bytes are not those that were written, or that is not there. */
export interface DamagedObject {
  readonly key: string;
  /** What of it is damaged, for people. */
  readonly damage: string;
  readonly foundMs: number;
}

/** Errors of all: `unavailable`, `permission_denied`, `corrupt`. */
export interface Scrubs {
  /** The last pass of each table that had one, by folder. */
  passes(): Promise<ReadonlyMap<string, ScrubPass>>;
  keep(folder: string, pass: ScrubPass): Promise<void>;
  /** In order of key. */
  damaged(folder: string): Promise<readonly DamagedObject[]>;
  /** How many files are noted, by folder; none of a table without any. */
  damagedCounts(): Promise<ReadonlyMap<string, number>>;
  /** Notes a damaged file; one that is noted already keeps its time. */
  found(folder: string, object: DamagedObject): Promise<void>;
  /** Files that are whole, or needed no more. */
  forgetDamage(keys: readonly string[]): Promise<void>;
  /** Tables that are gone. */
  forgetTables(folders: readonly string[]): Promise<void>;
}
