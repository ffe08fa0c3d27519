/**
 * Which file may import which, and who may call the operating system: the arrows of
 * docs/decisions.md#layers as data, and a reader of import statements. Pure; `import_graph_test.ts`
 * applies it to the workspace.
 */

/** Lowest first: a folder of `shared/` imports itself and those before it. */
export const SHARED_LAYERS = [
  "base",
  "os",
  "logging",
  "config",
  "metrics",
  "memory",
  "http1",
  "http",
  "http2",
  "auth",
  "storage",
  "tenant",
  "schema",
  "document",
  "columns",
  "wal",
  "parquet",
  "derived",
  "iceberg",
  "catalog",
  "tables",
  "engine",
  "search",
  "drain",
  "upkeep",
  "backup",
  "testing",
] as const;

const ROLES = ["ingest", "query", "compactor"] as const;

/**
 * Upward arrows that are permitted for types alone: the commit function names the catalog's
 * interface.
 */
const TYPE_ARROWS = new Set(["shared/iceberg -> shared/catalog"]);

/** Members of `Deno` that reach nothing outside of the process. */
const HARMLESS_DENO = new Set(["errors", "test", "inspect"]);

/** Who else may call `Deno`, and what; each of these says so in its header. */
const DENO_CALLERS: readonly { readonly path: RegExp; readonly members: readonly string[] }[] = [
  { path: /^shared\/os\//, members: ["*"] },
  { path: /^(tests|shared\/testing)\//, members: ["*"] },
  { path: /_test\.ts$/, members: ["*"] },
  { path: /^shared\/logging\//, members: ["stderr", "unrefTimer"] },
  {
    path: /^(cli\/main|shared\/config\/(run_program|check_variables))\.ts$/,
    members: ["args", "env", "exit", "stdout", "stderr"],
  },
  {
    path: /^shared\/http2?\//,
    members: ["listen", "listenTls", "Listener", "Conn", "TcpConn", "NetAddr"],
  },
  {
    path: /^cli\/console\.ts$/,
    members: ["stdin", "stdout", "stderr", "consoleSize", "noColor"],
  },
  {
    path: /^cli\/dev\/process_group\.ts$/,
    members: ["Command", "ChildProcess", "Signal", "execPath", "build", "permissions"],
  },
  { path: /^cli\/dev\/check_addresses\.ts$/, members: ["listen"] },
  {
    path: /^cli\/compile\.ts$/,
    members: ["Command", "execPath", "args", "exit", "stdout", "stderr"],
  },
  { path: /^cli\/dev\/child_environment\.ts$/, members: ["env"] },
  {
    path: /^web\/build\.ts$/,
    members: [
      ...["args", "mkdir", "readDir", "readTextFile", "remove", "rename", "stat", "utime"],
      "writeFile",
    ],
  },
  {
    path: /^cli\/dev\/patient_end\.ts$/,
    members: ["addSignalListener", "removeSignalListener"],
  },
];

export interface ImportStatement {
  readonly specifier: string;
  /** From 1. */
  readonly line: number;
  readonly typeOnly: boolean;
}

const CLAUSE = String.raw`(?:\*(?:\s+as\s+\w+)?|\w+|(?:\w+\s*,\s*)?(?:\{[^}]*\}|\*\s+as\s+\w+))`;
const STATEMENT = new RegExp(
  String.raw`^(?:import|export)\s+(type\s+)?(${CLAUSE})\s*from\s*"([^"]+)"` +
    String.raw`|^import\s+"([^"]+)"|\bimport\(\s*"([^"]+)"`,
  "gm",
);

/** A module that is loaded by its address, which no import names. */
const THREAD = /new URL\(\s*"(\.[^"]+\.ts)",\s*import\.meta\.url/g;

/** Every import, re-export and dynamic import with a literal specifier. */
export function importsOf(source: string): ImportStatement[] {
  return [...source.matchAll(STATEMENT)].map((match) => {
    const [, typeKeyword, clause = "", from, bare, dynamic] = match;
    return {
      specifier: from ?? bare ?? dynamic ?? "",
      line: source.slice(0, match.index).split("\n").length,
      typeOnly: typeKeyword !== undefined || namesTypesOnly(clause),
    };
  });
}

/** `{ type A, type B }` */
function namesTypesOnly(clause: string): boolean {
  const names = /^\{([^}]*)\}$/.exec(clause)?.[1]?.split(",").map((name) => name.trim());
  return names?.every((name) => name === "" || name.startsWith("type ")) ?? false;
}

/**
 * Why `file` may not import this, or undefined when it may. Paths are relative to the workspace.
 */
export function refusedImport(
  file: string,
  statement: ImportStatement,
  packages: ReadonlySet<string>,
): string | undefined {
  const { specifier } = statement;
  if (!specifier.startsWith(".")) {
    const known = specifier.startsWith("node:") || packages.has(packageOf(specifier));
    return known ? undefined : `${specifier} is neither in the imports of a deno.json nor node:`;
  }
  const target = resolveImport(file, specifier);
  if (isTest(file)) return undefined;
  if (isTest(target) || partOf(target) === "shared/testing" && partOf(file) !== "shared/testing") {
    return `${target} is for tests`;
  }
  return refusedArrow(file, target, statement.typeOnly);
}

/**
 * Files that run when those of `entries` do, these included: what they import, and the modules that
 * they start as threads (`new URL("./x_worker.ts", import.meta.url)`). `sources` are texts by path
 * from the workspace.
 */
export function reachedFrom(
  entries: readonly string[],
  sources: ReadonlyMap<string, string>,
): ReadonlySet<string> {
  const reached = new Set<string>();
  const pending = [...entries];
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    const source = sources.get(file) ?? "";
    for (const { specifier, typeOnly } of importsOf(source)) {
      if (specifier.startsWith(".") && !typeOnly) pending.push(resolveImport(file, specifier));
    }
    for (const [, module = ""] of source.matchAll(THREAD)) {
      pending.push(resolveImport(file, module));
    }
  }
  return reached;
}

/** Packages that `files` import; with `types`, also those of which they name types alone. */
export function packagesOf(
  files: Iterable<string>,
  sources: ReadonlyMap<string, string>,
  { types = false } = {},
): string[] {
  const names = new Set<string>();
  for (const file of files) {
    for (const { specifier, typeOnly } of importsOf(sources.get(file) ?? "")) {
      if (/^(\.|node:)/.test(specifier) || typeOnly && !types) continue;
      names.add(packageOf(specifier));
    }
  }
  return [...names].toSorted();
}

function refusedArrow(file: string, target: string, typeOnly: boolean): string | undefined {
  const [from, to] = [partOf(file), partOf(target)];
  if (from === to || to === "proto") return undefined;
  if (to.startsWith("shared/")) {
    if (!from.startsWith("shared/")) return from === "proto" ? "proto imports nothing" : undefined;
    if (layerOf(to) < layerOf(from)) return undefined;
    if (typeOnly && TYPE_ARROWS.has(`${from} -> ${to}`)) return undefined;
    return `${from} lies below ${to}`;
  }
  if (from === "cli" && isRole(to)) {
    return target === `${to}/mod.ts` ? undefined : `${to}/mod.ts is the only door of ${to}`;
  }
  return `${from} may not import ${to}`;
}

/** Uses of `Deno` that `file` may not make. */
export function refusedDenoCalls(file: string, source: string): { line: number; member: string }[] {
  const granted = DENO_CALLERS.filter(({ path }) => path.test(file)).flatMap((row) => row.members);
  if (granted.includes("*")) return [];
  return source.split("\n").flatMap((text, at) =>
    [...codeOf(text).matchAll(/\bDeno\.(\w+)/g)]
      .map((match) => match[1] ?? "")
      .filter((member) => !HARMLESS_DENO.has(member) && !granted.includes(member))
      .map((member) => ({ line: at + 1, member }))
  );
}

/** A line without its comment. */
function codeOf(line: string): string {
  return /^\s*(\*|\/\*|\/\/)/.test(line) ? "" : line.replace(/\s\/\/.*$/, "");
}

export function isTest(path: string): boolean {
  return path.endsWith("_test.ts") || path.startsWith("tests/");
}

function isRole(part: string): boolean {
  return ROLES.some((role) => role === part);
}

/** `shared/wal` of `shared/wal/format.ts`, `cli` of `cli/sql/client.ts`. */
function partOf(path: string): string {
  const [top = "", below = ""] = path.split("/");
  return top === "shared" ? `shared/${below}` : top;
}

function layerOf(part: string): number {
  const layer = SHARED_LAYERS.findIndex((name) => `shared/${name}` === part);
  if (layer < 0) throw new Error(`${part} has no place in the order of shared/`);
  return layer;
}

/** The package of a bare specifier: `hono/cors` is of `hono`. */
export function packageOf(specifier: string): string {
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

/** The file that `specifier` names in `file`, by its path from the workspace. */
export function resolveImport(file: string, specifier: string): string {
  return new URL(specifier, `file:///${file}`).pathname.slice(1);
}
