/**
 * What each role's process may touch: docs/decisions.md#permissions-of-a-role as one table.
 * `deno.json` holds the same sets for the default `./data`, but for `run`, which its task names:
 * the runtime is elsewhere on each machine. For any other place the flags are built here. Tests
 * hold the two equal, and show each role refused what it must not do.
 *
 * SQLite and DuckDB open files by themselves, below these walls: what they open is bounded by the
 * catalog's `readOnly` and by the engine's `allowed_directories`.
 */

import { dirname, resolve } from "node:path";
import { UsageError } from "../shared/base/errors.ts";
import { ANY_HOST, type Places, placesOf, type Role, type RoleInput } from "./role_places.ts";

/** Names as in a permission set of `deno.json`; an absent one is denied. */
export interface Permissions {
  readonly read?: readonly string[];
  readonly write?: readonly string[];
  readonly net?: readonly string[];
  readonly env?: readonly string[];
  readonly sys?: readonly string[];
  readonly ffi?: readonly string[];
  readonly run?: readonly string[];
}

/**
 * What starting a process looks at, and where the runtime keeps what it compiled, for that process.
 */
const CHILD_ENVIRONMENT = ["NODE_V8_COVERAGE", "DENO_DIR"] as const;

const TABLE: Readonly<Record<Role, (places: Places) => Permissions>> = {
  ingest: (places) => ({
    read: [
      places.threadSources,
      places.decodeSources,
      places.wal,
      ...places.catalog,
      ...places.mirror.map(dirname),
      ...places.tlsFiles,
    ],
    write: [places.wal, ...places.mirror],
    net: [...places.listeners, ...places.services],
    env: places.environment,
    sys: places.mirrors ? ["statfs", "setPriority"] : ["statfs"],
  }),
  compactor: (places) => ({
    read: [
      places.packages,
      places.threadSources,
      ...places.drainedWal,
      places.warehouse,
      ...places.catalogElsewhere,
      places.scratch,
    ],
    write: [
      ...places.drainedWal,
      places.warehouse,
      ...places.catalogElsewhere,
      places.scratch,
    ],
    net: [...places.listeners, ...places.services],
    env: [...places.environment, ...CHILD_ENVIRONMENT],
    sys: ["statfs"],
    run: [places.runtime],
  }),
  query: (places) => ({
    read: [
      places.packages,
      places.threadSources,
      places.auditSources,
      places.page,
      places.wal,
      places.warehouse,
      ...places.catalogElsewhere,
      places.cache,
      ...places.tlsFiles,
    ],
    write: [
      places.cache,
      ...places.audit,
      ...places.icebergWrites,
      places.jobResults,
      ...places.catalogRows,
      ...places.jobRows,
    ],
    net: [...places.listeners, ...places.services],
    env: [...places.environment, ...CHILD_ENVIRONMENT],
    sys: ["systemMemoryInfo", "setPriority", "statfs"],
    run: [places.runtime],
  }),
};

/** What `role` may touch with these places. */
export function permissionsOf(role: Role, places: Places): Permissions {
  return TABLE[role](places);
}

/** The set as flags of `deno run`. Errors: `invalid_argument` for a path with a comma. */
export function permissionFlags(permissions: Permissions): string[] {
  return Object.entries(permissions).map(([name, values]: [string, readonly string[]]) =>
    values.includes(ANY_HOST)
      ? `--allow-${name}`
      : `--allow-${name}=${values.map(withoutComma).join(",")}`
  );
}

/**
 * Flags of a role's runtime besides its permissions. V8 reads its flags at its start only.
 *
 * While ingest's young generation is collected nobody is answered. One thread collects it: with
 * several the last is waited for, which takes milliseconds when others have the processors. The
 * young generation is a quarter of its usual size. What is copied is half a MiB of what is alive
 * and what grew since the last time. One collection takes 0.6 ms instead of 2.4, and all together
 * no longer (`docs/measurements/bench.md`, `latency`).
 */
export function runtimeFlags(role: Role): readonly string[] {
  return RUNTIME_FLAGS[role];
}

/** The query server's threads work on large arrays, which are no part of a young generation. */
const RUNTIME_FLAGS: { readonly [R in Role]: readonly string[] } = {
  ingest: ["--v8-flags=--no-parallel-scavenge,--max-semi-space-size=4"],
  compactor: [],
  query: ["--v8-flags=--max-semi-space-size=4"],
};

/**
 * Variables of a role's process that its allocator reads at its start. Roles make and free arrays
 * of megabytes, in several threads. By default the C library keeps tens of MiB of what was freed
 * for each thread; so it gives them back at once (`docs/measurements/memory.md`).
 */
export function runtimeEnvironment(role: Role): Readonly<Record<string, string>> {
  return {
    MALLOC_ARENA_MAX: "4",
    MALLOC_MMAP_THRESHOLD_: String(MMAP_THRESHOLD_BYTES[role]),
    MALLOC_TRIM_THRESHOLD_: "4194304",
  };
}

/**
 * From this length on an array has pages of its own. The ingest server's are those of requests that
 * are longer than most, the query server's those of indexes and answers.
 */
const MMAP_THRESHOLD_BYTES: { readonly [R in Role]: number } = {
  ingest: 512 * 1024,
  compactor: 2 * 1024 * 1024,
  query: 128 * 1024,
};

/**
 * Arguments for the `deno` executable that run `role` over `dataDir` under its own permission set;
 * `args` are further options of the role. Needs the source tree: a compiled binary has its
 * permissions built in.
 */
export function processArguments(
  role: Role,
  dataDir: string,
  args: readonly string[],
  env: RoleInput["env"] = {},
): string[] {
  const places = placesOf(role, { dataDir, root: workspacePath("."), args, env });
  const wiring = role === "query" ? ["--query-wal-buffer-dir", places.wal] : [];
  return [
    "run",
    "--quiet",
    "--no-prompt",
    "--cached-only",
    ...runtimeFlags(role),
    ...permissionFlags(permissionsOf(role, places)),
    workspacePath(`${role}/main.ts`),
    "--data-dir",
    dataDir,
    ...wiring,
    ...args,
  ];
}

/** Absolute path of something in the source tree. */
export function workspacePath(relative: string): string {
  return resolve(import.meta.dirname ?? ".", "..", relative);
}

/** `deno` splits the value of a permission flag at commas and knows no way around it. */
function withoutComma(value: string): string {
  if (!value.includes(",")) return value;
  throw new UsageError(
    `Cannot grant access to ${JSON.stringify(value)}: use a path without a comma`,
  );
}
