/**
 * Failures of files, folders and disks, told apart from bugs: by the system's number of the error,
 * which the runtime puts into its message, or by its code.
 */

import { OperatingError } from "../base/errors.ts";

interface DiskFailure {
  readonly codes: readonly string[];
  /** Numbers of Linux and macOS. */
  readonly numbers: readonly number[];
  readonly remedy: string;
}

const FAILURES: readonly DiskFailure[] = [
  {
    codes: ["EIO", "ENXIO", "ENODEV", "EUCLEAN", "EBADMSG", "ESTALE"],
    numbers: [5, 6, 19, 117, 74, 116, 70],
    remedy: "look at the disk and its file system",
  },
  { codes: ["ENOSPC", "EDQUOT", "EFBIG"], numbers: [28, 122, 69, 27], remedy: "free space there" },
  {
    codes: ["EACCES", "EPERM"],
    numbers: [13, 1],
    remedy: "give the user of this process the right to it",
  },
  { codes: ["EROFS"], numbers: [30], remedy: "mount the file system for writing" },
  {
    codes: ["EMFILE", "ENFILE"],
    numbers: [24, 23],
    remedy: "raise the limit of open files (LimitNOFILE, ulimit -n)",
  },
  {
    codes: ["ENOENT", "ENOTDIR", "EISDIR", "ELOOP", "EBUSY"],
    numbers: [2, 20, 21, 40, 62, 16],
    remedy: "look at what is at this path",
  },
];

/** What happened to a file or a disk, and what to do; undefined: `error` is something else. */
export function diskRemedy(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof Deno.errors.NotCapable) {
    return "start the server with a permission set that has this place (deno task, svc dev)";
  }
  const number = Number(/\(os error (\d+)\)/.exec(error.message)?.[1] ?? NaN);
  const { code } = error as { readonly code?: unknown };
  return FAILURES.find(({ codes, numbers }) =>
    numbers.includes(number) || (typeof code === "string" && codes.includes(code))
  )?.remedy;
}

/**
 * The operating error for a failure of a file or a disk: `unavailable`, since it may be mended.
 * `what` was tried, with its path; or `place` is the path, which no client reads then. Any other
 * error stays as it is.
 */
export function diskError(what: string, error: unknown, place?: string): unknown {
  const remedy = diskRemedy(error);
  if (remedy === undefined || error instanceof OperatingError) return error;
  const { message } = error as Error;
  const told = place === undefined ? message : "its file failed";
  return new OperatingError("unavailable", `Cannot ${what}: ${told}; ${remedy}`, {
    reason: DISK_FAILURE,
    retryAfterSecs: 5,
    cause: error,
    ...(place === undefined ? {} : { place: `${place}: ${message}` }),
  });
}

/** The reason that clients see. */
export const DISK_FAILURE = "disk_failure";

/**
 * `error` with the path of the file in its message, which the system leaves out for open files. It
 * stays of its class, which callers ask for.
 */
export function namingFile(error: unknown, verb: string, path: string): unknown {
  if (error instanceof Error && diskRemedy(error) !== undefined && !error.message.includes(path)) {
    error.message += `: ${verb} '${path}'`;
  }
  return error;
}
