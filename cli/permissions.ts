/**
 * What each role's process may touch: docs/decisions.md#permissions-of-a-role as one table.
 * `deno.json` holds the same sets for the default `./data`, but for `run`, which its task names:
 * the runtime is elsewhere on each machine. For any other place the flags are built here. Tests
 * hold the two equal, and show each role refused what it must not do.
 *
 * SQLite and DuckDB open files by themselves, below these walls: what they open is bounded by the
 * catalog's `readOnly` and by the engine's `allowed_directories`.
 */

import { dirname, isAbsolute, resolve } from "node:path";
import { UsageError } from "../shared/base/errors.ts";
import { isPostgresUri, sqlitePathOf } from "../shared/catalog/catalog_uri.ts";
import { commitsPathOf } from "../shared/catalog/sqlite_commits.ts";
import { isOn } from "../shared/config/parse_options.ts";
import { runtimePath } from "../shared/os/child_process.ts";
import { isS3Url, parseS3Url, s3Services } from "../shared/storage/s3_settings.ts";
import { warehousePlaceOf } from "../shared/storage/warehouse_url.ts";
import { parseMirrorPrefix } from "../shared/wal/mirror/mirror_layout.ts";
import { QUERY_AUDIT_TABLE } from "../shared/schema/query_audit.ts";
import { JOB_RESULTS_FOLDER } from "../shared/catalog/job_store.ts";

export const ROLES = ["ingest", "compactor", "query"] as const;
export type Role = typeof ROLES[number];

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

/** Where a process finds its things; relative paths start at its working directory. */
export interface Places {
  /** Installed packages: DuckDB's library and the Parquet writer's WebAssembly. */
  readonly packages: string;
  /**
   * Sources of threads (Parquet, derived data): a thread's modules count as files that are read.
   */
  readonly threadSources: string;
  /** Sources of the ingest server's own thread, which decodes long requests. */
  readonly decodeSources: string;
  /** Sources of the query server's own thread, which writes its audit. */
  readonly auditSources: string;
  /** The page for browsers, as it is built. */
  readonly page: string;
  readonly wal: string;
  /** What the compactor drains: none when that is the mirror in the warehouse. */
  readonly drainedWal: readonly string[];
  readonly warehouse: string;
  /**
   * Folder of the ingest server's mirror of its WAL, which must be there: it may write below, and
   * read its parent. None without a mirror, or when it is in a service.
   */
  readonly mirror: readonly string[];
  /**
   * Whether the ingest server has a thread that packs for the mirror, which lets the others run
   * first.
   */
  readonly mirrors: boolean;
  /** The file of a SQLite catalog, and the one that counts its commits. */
  readonly catalog: readonly string[];
  /**
   * The catalog's folder where it is not the warehouse, which its writers look for and the
   * compactor makes.
   */
  readonly catalogElsewhere: readonly string[];
  /** The query server's spill files and converted WAL segments. */
  readonly cache: string;
  /** The compactor's copies of data files. */
  readonly scratch: string;
  /** The warehouse, where the query server takes commits of other engines. */
  readonly icebergWrites: readonly string[];
  /** Folder of the query server's audit table; none when it keeps none. */
  readonly audit: readonly string[];
  /** Folder of the query server's large results of batch jobs. */
  readonly jobResults: string;
  /** Where the query server keeps batch jobs; none when that is a service. */
  readonly jobRows: readonly string[];
  /**
   * Where the query server writes its own rows of the catalog (managed indexes); none when that is
   * a service.
   */
  readonly catalogRows: readonly string[];
  /** `host:port` of each listener. */
  readonly listeners: readonly string[];
  /** Certificate and key of the listeners, where they have one. */
  readonly tlsFiles: readonly string[];
  /**
   * `host:port` of each service that the role calls: OIDC issuer, Redis, PostgreSQL, S3, and of
   * the ingest server the query server that counts for it.
   */
  readonly services: readonly string[];
  /** The runtime's executable, for processes that have a DuckDB. */
  readonly runtime: string;
  /** Variables that it may read. */
  readonly environment: readonly string[];
}

const ENVIRONMENT = ["SVC_*"] as const;
/** What S3's client and its library read. */
const S3_ENVIRONMENT = ["AWS_*"] as const;
/** What PostgreSQL's client reads for whatever the URI leaves out. */
const POSTGRES_ENVIRONMENT = ["PG*"] as const;

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
    sys: ["systemMemoryInfo", "setPriority"],
    run: [places.runtime],
  }),
};

/** The address of a listener that is off. */
const NO_LISTENER = "none";

/** Listener options of a role and their defaults: docs/api/README.md#conventions. */
export const LISTENERS: Readonly<Record<Role, Readonly<Record<string, string>>>> = {
  ingest: {
    "--bind": "0.0.0.0:8088",
    "--otlp-grpc-listen": "0.0.0.0:4317",
    "--metrics-bind": "127.0.0.1:9100",
  },
  compactor: { "--metrics-bind": "127.0.0.1:9101" },
  query: {
    "--bind": "0.0.0.0:8089",
    "--metrics-bind": "127.0.0.1:9105",
    "--pg-listen": NO_LISTENER,
  },
};

/** Options of a role by flag, each with its environment variable. */
type Variables = Readonly<Record<string, string>>;

/** Options that name a file to read. */
const FILES: Readonly<Record<Role, Variables>> = {
  ingest: { "--tls-cert": "SVC_INGEST_TLS_CERT", "--tls-key": "SVC_INGEST_TLS_KEY" },
  compactor: {},
  query: {
    "--tls-cert": "SVC_QUERY_TLS_CERT",
    "--tls-key": "SVC_QUERY_TLS_KEY",
    "--peer-tls-ca": "SVC_QUERY_PEER_TLS_CA",
  },
};

/** Options that name a service by its URL. */
const SERVICES: Readonly<Record<Role, Variables>> = {
  ingest: {
    "--oidc-issuer": "SVC_OIDC_ISSUER",
    "--ingest-rate-redis-url": "SVC_INGEST_RATE_REDIS_URL",
    "--query-url": "SVC_QUERY_URL",
  },
  compactor: {},
  query: {
    "--oidc-issuer": "SVC_OIDC_ISSUER",
    "--iceberg-sts-url": "SVC_ICEBERG_STS_URL",
    "--ingest-metrics-url": "SVC_INGEST_METRICS_URL",
    "--compactor-metrics-url": "SVC_COMPACTOR_METRICS_URL",
  },
};

/**
 * An option of the query server: whose folder its audit and results are in, and whether it keeps an
 * audit.
 */
const NAMESPACE: Variables = { "--tenant-namespace": "SVC_TENANT_NAMESPACE" };
const NAMESPACE_DEFAULT = "svc";
const AUDIT_OFF = { flag: "--audit-disabled", variable: "SVC_QUERY_AUDIT_DISABLED" };

/** An option of the query server: it writes metadata files of tables. */
const ICEBERG_WRITES = { flag: "--iceberg-writes", variable: "SVC_ICEBERG_WRITES" };

/** An option of the compactor: it drains the mirror. */
const CATALOG_CLAIM = { flag: "--catalog-claim", variable: "SVC_CATALOG_CLAIM" };

/** An option of the ingest server. */
const MIRROR_PREFIX = { flag: "--wal-mirror-prefix", variable: "SVC_WAL_MIRROR_PREFIX" };

/** An option of every role; a catalog that is a file is no service. */
const CATALOG: Variables = { "--catalog-uri": "SVC_CATALOG_URI" };

/** An option of the query server: a database of its own for batch jobs. */
const JOBS: Variables = { "--jobs-postgres-uri": "SVC_JOBS_POSTGRES_URI" };

/** An option of every role; a warehouse that is a folder is no service. */
const WAREHOUSE: Variables = { "--warehouse-url": "SVC_WAREHOUSE_URL" };

const SERVICE_PORTS: Readonly<Record<string, string>> = {
  "http:": "80",
  "https:": "443",
  "postgres:": "5432",
  "postgresql:": "5432",
  "redis:": "6379",
  "rediss:": "6379",
};

/** Options of the query server: its peers, and its cache. */
const PEERS: Variables = { "--peers": "SVC_QUERY_PEERS" };
const PEERS_DNS: Variables = { "--peers-dns": "SVC_QUERY_PEERS_DNS" };
const CACHE_DIR: Variables = { "--cache-dir": "" };
/** Among hosts: all of them. */
const ANY_HOST = "*";

/** What a role's process is started with. */
export interface RoleInput {
  readonly args: readonly string[];
  /** Its environment, as far as it is ours. */
  readonly env: Readonly<Record<string, string>>;
}

/** What `role` may touch with these places. */
export function permissionsOf(role: Role, places: Places): Permissions {
  return TABLE[role](places);
}

/**
 * Places below a data directory and below `root`, the source tree; listeners are those of `args`,
 * else the defaults of `role`.
 */
export function placesOf(
  role: Role,
  options: { dataDir: string; root: string } & Partial<RoleInput>,
): Places {
  const { dataDir, root, args = [], env = {} } = options;
  const [catalogUri] = valuesOf(CATALOG, { args, env });
  const catalogs = [catalogUri].filter((uri) => uri !== undefined).filter(isPostgresUri);
  const jobs = role === "query" ? valuesOf(JOBS, { args, env }) : [];
  const postgres = [...new Set([...catalogs, ...jobs])];
  const s3 = valuesOf(WAREHOUSE, { args, env }).filter(isS3Url)
    .flatMap((url) => s3Services(parseS3Url(url), (name) => env[name]));
  const warehouse = `${dataDir}/warehouse`;
  const isFile = catalogUri !== undefined && catalogs.length === 0;
  const catalog = isFile ? sqlitePathOf(catalogUri) : `${warehouse}/catalog.db`;
  const catalogFiles = [catalog, commitsPathOf(catalog)];
  return {
    packages: `${root}/node_modules`,
    threadSources: `${root}/shared`,
    decodeSources: `${root}/ingest/otlp`,
    auditSources: `${root}/query/audit`,
    page: `${root}/web/dist`,
    wal: `${dataDir}/wal`,
    drainedWal: isSwitchedOn(CATALOG_CLAIM, { args, env }) ? [] : [`${dataDir}/wal`],
    warehouse,
    mirror: mirrorFolders(dataDir, { args, env }),
    mirrors: isMirrored({ args, env }),
    catalog: catalogFiles,
    catalogElsewhere: role === "ingest" || catalog.startsWith(`${warehouse}/`)
      ? []
      : [dirname(catalog)],
    cache: cacheFolder(dataDir, { args, env }),
    scratch: `${dataDir}/compactor-scratch`,
    audit: isSwitchedOn(AUDIT_OFF, { args, env }) ? [] : [auditFolder(dataDir, { args, env })],
    icebergWrites: isSwitchedOn(ICEBERG_WRITES, { args, env }) ? [warehouse] : [],
    jobResults: jobResultsFolder(dataDir, { args, env }),
    jobRows: postgres.length > 0 ? [] : [`${dirname(catalog)}/jobs.db`],
    catalogRows: catalogs.length > 0 ? [] : catalogFiles,
    listeners: Object.entries(LISTENERS[role])
      .map(([flag, address]) => valueOf(flag, args) ?? address)
      .filter((address) => address !== NO_LISTENER),
    tlsFiles: valuesOf(FILES[role], { args, env }),
    runtime: runtimePath(),
    services: [
      ...[...valuesOf(SERVICES[role], { args, env }), ...postgres, ...s3].map(serviceAddress),
      ...(role === "query" ? peerAddresses({ args, env }) : []),
    ],
    environment: [
      ...ENVIRONMENT,
      ...(postgres.length > 0 ? POSTGRES_ENVIRONMENT : []),
      ...(s3.length > 0 ? S3_ENVIRONMENT : []),
    ],
  };
}

/** Where the query server keeps copies; an absolute path is taken as it is. */
function cacheFolder(dataDir: string, input: RoleInput): string {
  const [given = "query-cache"] = valuesOf(CACHE_DIR, input);
  return isAbsolute(given) ? given : `${dataDir}/${given}`;
}

/** Query servers that share statements. Those of a name are any: it is looked up again. */
function peerAddresses(input: RoleInput): string[] {
  if (valuesOf(PEERS_DNS, input).length > 0) return [ANY_HOST];
  return valuesOf(PEERS, input).flatMap((list) => list.split(",")).map((one) => one.trim())
    .filter((one) => one !== "");
}

function mirrorFolders(dataDir: string, input: RoleInput): string[] {
  const [url] = valuesOf(WAREHOUSE, input);
  const prefix = mirrorPrefixOf(input);
  const place = url === undefined ? `${dataDir}/warehouse` : warehousePlaceOf(url);
  return prefix === "" || isS3Url(place) ? [] : [`${place}/${prefix}`];
}

function isMirrored(input: RoleInput): boolean {
  return mirrorPrefixOf(input) !== "";
}

function mirrorPrefixOf(input: RoleInput): string {
  // Empty says that there is no mirror, in the variable as well.
  const text = valueOf(MIRROR_PREFIX.flag, input.args) ?? input.env[MIRROR_PREFIX.variable];
  return parseMirrorPrefix(text, { hasWarehouseUrl: valuesOf(WAREHOUSE, input).length > 0 });
}

/** Folder of the query server's audit. Its parents must be there: the role may not make them. */
export function auditFolder(dataDir: string, input: RoleInput): string {
  return `${namespaceFolder(dataDir, input)}/${QUERY_AUDIT_TABLE}`;
}

/** Folder of the query server's large results of batch jobs. Its parents must be there, too. */
export function jobResultsFolder(dataDir: string, input: RoleInput): string {
  return `${namespaceFolder(dataDir, input)}/${JOB_RESULTS_FOLDER}`;
}

function namespaceFolder(dataDir: string, input: RoleInput): string {
  const [namespace = NAMESPACE_DEFAULT] = valuesOf(NAMESPACE, input);
  return `${dataDir}/warehouse/${namespace}`;
}

interface Switch {
  readonly flag: string;
  readonly variable: string;
}

function isSwitchedOn({ flag, variable }: Switch, { args, env }: RoleInput): boolean {
  const given = args.findLast((word) => word === flag || word.startsWith(`${flag}=`));
  return given === undefined
    ? isOn(env[variable] ?? "")
    : given === flag || isOn(given.slice(flag.length + 1));
}

/**
 * `host:port` of a URL. Errors: `invalid_argument` for one that does not name one host, or an
 * unknown scheme.
 */
function serviceAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const port = url?.port || SERVICE_PORTS[url?.protocol ?? ""];
  if (url !== undefined && /^[^,]+$/.test(url.hostname) && port !== undefined) {
    return `${url.hostname}:${port}`;
  }
  // Its text may hold a password.
  throw new UsageError(
    "Cannot grant access to a service whose URL does not name one host (--catalog-uri, --jobs-postgres-uri, " +
      "--oidc-issuer, --ingest-rate-redis-url, --query-url, AWS_ENDPOINT_URL): write postgres://host[:port]/…, " +
      "https://host[:port]/… or redis://host[:port]",
  );
}

/** A flag wins over its variable; an empty variable is none. */
function valuesOf(variables: Variables, { args, env }: RoleInput): string[] {
  return Object.entries(variables)
    .map(([flag, variable]) => valueOf(flag, args) ?? (env[variable] || undefined))
    .filter((value) => value !== undefined);
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
  query: 64 * 1024,
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

function valueOf(flag: string, args: readonly string[]): string | undefined {
  const at = args.lastIndexOf(flag);
  if (at >= 0) return args[at + 1];
  return args.findLast((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1);
}

/** `deno` splits the value of a permission flag at commas and knows no way around it. */
function withoutComma(value: string): string {
  if (!value.includes(",")) return value;
  throw new UsageError(
    `Cannot grant access to ${JSON.stringify(value)}: use a path without a comma`,
  );
}
