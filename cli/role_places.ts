/**
 * Where a role's process finds its things, as its options and its environment say: folders, files,
 * listeners and services. `permissions.ts` makes permissions of them.
 */

import { dirname, isAbsolute } from "node:path";
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
export const ANY_HOST = "*";

/** What a role's process is started with. */
export interface RoleInput {
  readonly args: readonly string[];
  /** Its environment, as far as it is ours. */
  readonly env: Readonly<Record<string, string>>;
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

function valueOf(flag: string, args: readonly string[]): string | undefined {
  const at = args.lastIndexOf(flag);
  if (at >= 0) return args[at + 1];
  return args.findLast((word) => word.startsWith(`${flag}=`))?.slice(flag.length + 1);
}
