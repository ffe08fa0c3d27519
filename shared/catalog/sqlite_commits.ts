/**
 * How many commits a catalog in a SQLite file has had: in the catalog, and in a small file beside
 * it. SQLite takes a frame of `<file>-wal` that fails its checksum, and all behind it, for never
 * written. So damage there takes commits back, as a whole and without an error. A file that counts
 * more commits than the catalog has tells so.
 *
 * `<file>-commits` has 16 slots of 32 bytes. Commit number n is in slot n mod 16, so that of two
 * writers the slower one does not overwrite a greater number. A slot is ASCII: n in 16 digits, a
 * space, the CRC-32 of these digits in 8 hexadecimal ones, six spaces, a newline. What else is in a
 * slot is no number, so damage of this file hides lost commits at most.
 *
 * Invariants: a number is written when its commit is on the disk. So no kill and no power cut
 * leaves a number here that the catalog has not. The file itself is not synced: after a power cut
 * it may lack the newest numbers. It is read before the catalog's own number.
 *
 * Not covered: commits of other engines, which do not count; a lost one shows when a counted one is
 * lost with it.
 */

import { Buffer } from "node:buffer";
import { chmodSync, closeSync, constants, existsSync, openSync, readSync } from "node:fs";
import { statSync, writeSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "../base/bytes.ts";
import type { OperatingError } from "../base/errors.ts";
import { diskError } from "../os/disk_failure.ts";
import { damagedCatalog } from "./sqlite_errors.ts";

const TABLE = "svc_commits";
/** One row, without a copy: a changed number is either refused or taken over by the file. */
export const COMMITS_TABLE = `
CREATE TABLE IF NOT EXISTS ${TABLE} (commits INTEGER NOT NULL);
INSERT INTO ${TABLE} (commits) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM ${TABLE});
`;

const SLOTS = 16;
const SLOT_BYTES = 32;
const DIGITS = 16;

/** Where the commits of the catalog at `path` are counted. */
export function commitsPathOf(path: string): string {
  return `${path}-commits`;
}

/** The file beside one catalog. A catalog in memory has none, nor has one that a URI names. */
export class CommitCount {
  readonly #path: string | undefined;

  constructor(private readonly catalog: string) {
    const isFile = catalog !== ":memory:" && !catalog.startsWith("file:");
    this.#path = isFile ? commitsPathOf(catalog) : undefined;
  }

  /** How many commits the catalog has at least. Errors: `unavailable`. */
  recorded(): number {
    if (this.#path === undefined) return 0;
    const bytes = Buffer.alloc(SLOTS * SLOT_BYTES);
    try {
      const file = openSync(this.#path, constants.O_RDONLY);
      try {
        readSync(file, bytes, 0, bytes.length, 0);
      } finally {
        closeSync(file);
      }
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return 0;
      throw diskError("read the count of commits of the catalog", error, this.#path);
    }
    const starts = Array.from({ length: SLOTS }, (_, slot) => slot * SLOT_BYTES);
    return Math.max(...starts.map((at) => numberIn(bytes.subarray(at, at + SLOT_BYTES))));
  }

  /** Errors: `corrupt` when the catalog lacks commits; `unavailable`; SQLite's own. */
  refuseLost(db: DatabaseSync): void {
    const recorded = this.recorded();
    if (recorded === 0) return;
    const has = countIn(db);
    if (has < recorded) throw this.lost(recorded, has);
  }

  /** The error for a catalog that has fewer commits than are recorded. */
  lost(recorded: number, has: number): OperatingError {
    return damagedCatalog(`it has ${has} commits of at least ${recorded}`, {
      remedy: "restore it from a backup, or remove the file of commits beside it, if you put an " +
        "older one there on purpose",
      place: this.#path,
    });
  }

  /** Makes the file, with the rights of the catalog's. Errors: the runtime's, of permission. */
  make(): void {
    this.#attempt((path) => {
      const isNew = !existsSync(path);
      closeSync(openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600));
      if (isNew) chmodSync(path, statSync(this.catalog).mode & 0o777);
    });
  }

  /** Records that commit number `commits` is on the disk. */
  record(commits: number): void {
    this.#attempt((path) => {
      const file = openSync(path, constants.O_WRONLY);
      try {
        writeSync(file, slotOf(commits), 0, SLOT_BYTES, (commits % SLOTS) * SLOT_BYTES);
      } finally {
        closeSync(file);
      }
    });
  }

  /**
   * A number that cannot be written is left out. Its commit holds all the same, and the next one
   * writes a greater number.
   */
  #attempt(action: (path: string) => void): void {
    if (this.#path === undefined) return;
    try {
      action(this.#path);
    } catch (error) {
      // So a role that lacks the permission says so when it starts.
      if (error instanceof Deno.errors.NotCapable) throw error;
    }
  }
}

/** What a transaction gives, and whether its changes shall stay. */
export interface Decision<T> {
  readonly keep: boolean;
  readonly value: T;
}

/**
 * Runs `action` in one IMMEDIATE transaction, committed when it says so. A commit that changes rows
 * is counted where there is a `count`. Errors: those of `action`; SQLite's own.
 */
export function inTransaction<T>(
  db: DatabaseSync,
  action: () => Decision<T>,
  count?: CommitCount,
): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const before = count === undefined ? 0 : changesOf(db);
    const { keep, value } = action();
    const isCounted = count !== undefined && keep && changesOf(db) > before;
    const number = isCounted ? countOne(db) : undefined;
    db.exec(keep ? "COMMIT" : "ROLLBACK");
    if (number !== undefined) count?.record(number);
    return value;
  } finally {
    // Also when COMMIT itself fails: the transaction must not stay open under the next call.
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

/** Rows that this connection has changed since it was opened. */
function changesOf(db: DatabaseSync): number {
  return Number(db.prepare("SELECT total_changes() AS changes").get()?.changes);
}

function countOne(db: DatabaseSync): number {
  const sql = `UPDATE ${TABLE} SET commits = commits + 1 RETURNING CAST(commits AS TEXT) AS text`;
  return numberOf(db.prepare(sql).get());
}

/** How many commits the catalog has itself: 0 for one of an earlier release. */
function countIn(db: DatabaseSync): number {
  const isThere = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?").get(TABLE);
  if (isThere === undefined) return 0;
  return numberOf(db.prepare(`SELECT CAST(commits AS TEXT) AS text FROM ${TABLE}`).get());
}

function numberOf(row: Readonly<Record<string, unknown>> | undefined): number {
  const number = Number(row?.text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw damagedCatalog(`its count of commits is ${row?.text}`);
}

function slotOf(commits: number): Buffer {
  const digits = String(commits).padStart(DIGITS, "0");
  return Buffer.from(`${digits} ${sumOf(digits)}`.padEnd(SLOT_BYTES - 1) + "\n", "latin1");
}

/** 0: the slot has no number. */
function numberIn(slot: Buffer): number {
  const [digits = "", sum] = slot.toString("latin1").trimEnd().split(" ");
  return /^[0-9]{16}$/.test(digits) && sum === sumOf(digits) ? Number(digits) : 0;
}

function sumOf(digits: string): string {
  return crc32(Buffer.from(digits, "latin1")).toString(16).padStart(8, "0");
}
