/**
 * SQLite's failures as operating errors. Deno's `node:sqlite` gives no result code on its errors,
 * only SQLite's own words (`sqlite3_errstr`), which have been stable for decades; a test raises
 * each of them.
 */

import { type ErrorCode, messageOf, OperatingError } from "../base/errors.ts";
import { diskError } from "../os/disk_failure.ts";

interface Failure {
  readonly words: RegExp;
  readonly code: ErrorCode;
  readonly remedy: string;
}

const FAILURES: readonly Failure[] = [
  { words: /database (table |schema )?is locked/, code: "unavailable", remedy: "try again" },
  {
    // A damaged schema is told in many words, and what it named is not there then.
    words: /file is not a database|malformed|no such (table|column|index)/,
    code: "corrupt",
    remedy: "restore it from a backup",
  },
  {
    words: new RegExp(
      "unable to open database file|readonly database|disk I/O error|disk is full|" +
        "access permission denied|authorization denied|locking protocol|out of memory",
    ),
    code: "unavailable",
    remedy: "check that the folder exists, its permissions and the disk",
  },
];

/**
 * Runs `action` on the file at `place`; what SQLite throws becomes an operating error that says
 * what was tried. Clients read its message, so the file's path is apart from that.
 */
export function guard<T>(what: string, place: string, action: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    try {
      resolve(action());
    } catch (error) {
      reject(sqliteError(what, place, error));
    }
  });
}

/**
 * Whether SQLite refused to write. A connection that was made while its file could not be written
 * to refuses for ever, and another one may not.
 */
export function isReadOnly(error: unknown): boolean {
  return /readonly database/.test(messageOf(error));
}

/** The error for a file whose contents are not what was written. */
export function damagedCatalog(
  what: string,
  { remedy = "restore it from a backup", place }: {
    readonly remedy?: string;
    readonly place?: string | undefined;
  } = {},
): OperatingError {
  return new OperatingError(
    "corrupt",
    `Cannot use the catalog: its file is damaged: ${what}; ${remedy}`,
    { reason: "catalog_damaged", ...(place === undefined ? {} : { place }) },
  );
}

function sqliteError(what: string, place: string, error: unknown): unknown {
  if (error instanceof OperatingError) return error;
  // The runtime's own: a place that its permissions do not have.
  if (error instanceof Deno.errors.NotCapable) return diskError(what, error, place);
  const message = messageOf(error);
  const failure = FAILURES.find(({ words }) => words.test(message));
  if (failure === undefined) return error;
  const retry = failure.code === "unavailable" ? { retryAfterSecs: 1 } : {};
  return new OperatingError(failure.code, `Cannot ${what}: ${message}; ${failure.remedy}`, {
    cause: error,
    place,
    ...retry,
  });
}
