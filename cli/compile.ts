/**
 * `deno task compile [--data-dir DIR] [--out DIR] [--calls HOST:PORT,…]`: one binary per role. A
 * binary's permissions are built in. So the data directory, the default ports and what it may call
 * are chosen here. `svc` itself may read and write where its user may.
 *
 * Packages are inside the binaries, under a path that is not known beforehand. So `read` and `ffi`
 * of a role that reads packages are not narrowed to paths: DuckDB's library, the Parquet writer's
 * WebAssembly. What it may write and where it may listen is narrowed. The query server and the
 * compactor start themselves, to run DuckDB in processes of its own. They do so where they were
 * built: a binary that is moved has to be built again there. The build downloads the runtime's base
 * binary (`denort`) once, unless `DENORT_BIN` names one. Calls `Deno.Command` itself.
 */

import { UsageError } from "../shared/base/errors.ts";
import { parseProgram } from "../shared/config/parse_options.ts";
import type { OptionTable } from "../shared/config/options.ts";
import { permissionFlags, permissionsOf, runtimeFlags, workspacePath } from "./permissions.ts";
import { placesOf, type Role } from "./role_places.ts";

const OPTIONS = {
  dataDir: {
    kind: "text",
    flag: "data-dir",
    placeholder: "DATA_DIR",
    default: "./data",
    help: "The only data directory that the role binaries may touch.",
  },
  out: { kind: "text", flag: "out", placeholder: "DIR", default: "dist", help: "Where they go." },
  calls: {
    kind: "list",
    flag: "calls",
    placeholder: "HOST:PORT,…",
    help:
      "What the role binaries may call, comma-separated: peers, S3, PostgreSQL, an OIDC issuer. A " +
      "host without a port stands for all of its ports, and * for everything, as --peers-dns needs. " +
      "Without it they call nobody.",
  },
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

/** Loaded by their addresses at run time, so no import leads to them. */
export const THREADS = [
  "shared/parquet/decode_worker.ts",
  "shared/parquet/decode_wasm_worker.ts",
  "shared/parquet/arrow_parquet_worker.ts",
  "shared/parquet/arrow_file_worker.ts",
  "shared/parquet/parquet_worker.ts",
  "shared/derived/derive_worker.ts",
  "shared/derived/file_worker.ts",
  "shared/engine/duckdb/process/engine_worker.ts",
  "shared/engine/plan/delta_worker.ts",
  "shared/storage/upload_worker.ts",
  "shared/wal/frame_worker.ts",
  "shared/wal/mirror/pack_worker.ts",
  "ingest/otlp/decode_worker.ts",
  "query/audit/audit_worker.ts",
];

/** Built by `deno task web`; read by its path at run time. */
const PAGE = "web/dist";

/**
 * Nothing loads these. Tests of a package crash the compiler of this runtime version (stack
 * overflow); packages of our own tests have the same ones, and would be in each binary.
 */
const LEFT_OUT = [
  "node_modules/.deno/bintrees@1.0.2/node_modules/bintrees/test",
  "tests/node_modules",
];

const COMMAND_LINE_FLAGS = [
  "--allow-read",
  "--allow-write",
  "--allow-net",
  "--allow-env",
  "--allow-ffi",
  "--allow-sys=statfs,systemMemoryInfo,setPriority",
];

/** Arguments for `deno` that build one binary. */
export function compileArguments(
  { name, entry, role }: Binary,
  { dataDir, out, calls = [] }: { dataDir: string; out: string; calls?: readonly string[] },
): string[] {
  const flags = role === undefined
    ? COMMAND_LINE_FLAGS
    : [...runtimeFlags(role), ...roleFlags(role, { dataDir, calls, binary: `${out}/${name}` })];
  const included = role === "query" ? [...THREADS, PAGE] : THREADS;
  const contents = [
    ...included.flatMap((path) => ["--include", path]),
    ...LEFT_OUT.flatMap((path) => ["--exclude", path]),
  ];
  const output = ["--output", `${out}/${name}`];
  return ["compile", "--quiet", "--no-prompt", ...flags, ...contents, ...output, entry];
}

function roleFlags(
  role: Role,
  { dataDir, binary, calls }: {
    readonly dataDir: string;
    readonly binary: string;
    readonly calls: readonly string[];
  },
): string[] {
  // A binary that starts itself gains nothing: its permissions are built in.
  const runtime = workspacePath(binary);
  const places = { ...placesOf(role, { dataDir, root: "." }), runtime, services: calls };
  const { read = [], ffi = [], ...narrow } = permissionsOf(role, places);
  if (!read.includes(places.packages)) return permissionFlags({ read, ...narrow });
  // DuckDB is in processes of the same binary.
  const loads = ffi.length > 0 || narrow.run !== undefined;
  const wide = loads ? ["--allow-read", "--allow-ffi"] : ["--allow-read"];
  return [...permissionFlags(narrow), ...wide];
}

const PROGRAM = {
  name: "deno task compile",
  summary:
    "Build a binary of svc and of each role. Needs the runtime's base binary: it is downloaded, " +
    "unless DENORT_BIN names the file.",
  options: OPTIONS,
};

async function main(argv: readonly string[]): Promise<number> {
  const invocation = parseProgram(PROGRAM, argv, () => undefined);
  if (invocation.kind === "print") {
    Deno.stdout.writeSync(new TextEncoder().encode(invocation.text));
    return 0;
  }
  const { settings } = invocation;
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
