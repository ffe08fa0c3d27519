/**
 * `deno task compile [--data-dir DIR] [--out DIR]`: one binary per role. A binary's permissions are built in, so
 * the data directory and the default ports are chosen here; `svc` itself may read and write where its user may.
 *
 * Packages are inside the binaries. A native library can only be loaded from a file, so the runtime unpacks
 * DuckDB's into a temporary folder: its name is not known beforehand, which is why `ffi` and `read` of `query`
 * are not narrowed to a path. The build downloads the runtime's base binary (`denort`) once, unless `DENORT_BIN`
 * names one. Calls `Deno.Command` itself.
 */

import { parseOptions, UsageError } from "../shared/config/parse_options.ts";
import type { OptionTable } from "../shared/config/options.ts";
import {
  permissionFlags,
  permissionsOf,
  placesOf,
  type Role,
  workspacePath,
} from "./permissions.ts";

export const OPTIONS = {
  dataDir: {
    kind: "text",
    flag: "data-dir",
    placeholder: "DATA_DIR",
    default: "./data",
    help: "The only data directory that the role binaries may touch.",
  },
  out: { kind: "text", flag: "out", placeholder: "DIR", default: "dist", help: "Where they go." },
} as const satisfies OptionTable;

interface Binary {
  readonly name: string;
  readonly entry: string;
  /** Absent: the command line, for its user's own permissions. */
  readonly role?: Role;
}

export const BINARIES: readonly Binary[] = [
  { name: "svc", entry: "cli/main.ts" },
  { name: "svc-ingest-server", entry: "ingest/main.ts", role: "ingest" },
  { name: "svc-compactor", entry: "compactor/main.ts", role: "compactor" },
  { name: "svc-query-server", entry: "query/main.ts", role: "query" },
];

const COMMAND_LINE_FLAGS = [
  "--allow-read",
  "--allow-write",
  "--allow-net",
  "--allow-env",
  "--allow-ffi",
  "--allow-sys=statfs,systemMemoryInfo",
];

/** Arguments for `deno` that build one binary. */
export function compileArguments(
  { name, entry, role }: Binary,
  { dataDir, out }: { dataDir: string; out: string },
): string[] {
  const flags = role === undefined ? COMMAND_LINE_FLAGS : roleFlags(role, dataDir);
  return ["compile", "--quiet", "--no-prompt", ...flags, "--output", `${out}/${name}`, entry];
}

function roleFlags(role: Role, dataDir: string): string[] {
  const permissions = permissionsOf(role, placesOf(role, { dataDir, root: "." }));
  if (permissions.ffi === undefined) return permissionFlags(permissions);
  const { read: _read, ffi: _ffi, ...narrow } = permissions;
  return [...permissionFlags(narrow), "--allow-read", "--allow-ffi"];
}

async function main(argv: readonly string[]): Promise<number> {
  const settings = parseOptions(OPTIONS, argv);
  for (const binary of BINARIES) {
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: compileArguments(binary, settings),
      cwd: workspacePath("."),
    }).spawn().status;
    if (code !== 0) return code;
  }
  return 0;
}

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    Deno.stderr.writeSync(new TextEncoder().encode(`compile: ${error.message}\n`));
    Deno.exit(2);
  }
}
