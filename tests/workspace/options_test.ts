/**
 * Every option of every role: well-formed, documented by `--help`, with the defaults that are
 * promised.
 */

import assert from "node:assert/strict";
import { LISTENERS, type Role } from "../../cli/role_places.ts";
import { OPTIONS as COMPACTOR } from "../../compactor/mod.ts";
import { OPTIONS as INGEST } from "../../ingest/mod.ts";
import { OPTIONS as QUERY } from "../../query/mod.ts";
import type { OptionSpec, OptionTable } from "../../shared/config/options.ts";
import { present } from "../../shared/base/assert.ts";
import { helpText, parseOptions } from "../../shared/config/parse_options.ts";

const TABLES: Readonly<Record<Role, OptionTable>> = {
  ingest: INGEST,
  compactor: COMPACTOR,
  query: QUERY,
};

/** Flags, variables and defaults that nobody may change by accident. */
const PROMISED: readonly (readonly [Role, flag: string, env: string | null, value: unknown])[] = [
  ["ingest", "bind", null, "0.0.0.0:8088"],
  ["ingest", "otlp-grpc-listen", "SVC_OTLP_GRPC_LISTEN", "0.0.0.0:4317"],
  ["ingest", "metrics-bind", null, "127.0.0.1:9100"],
  ["ingest", "data-dir", null, "./data"],
  ["ingest", "wal", null, "wal"],
  ["ingest", "warehouse", null, "warehouse"],
  ["ingest", "catalog-uri", "SVC_CATALOG_URI", undefined],
  ["ingest", "wal-max-events", null, 4096],
  ["ingest", "wal-max-age-secs", null, 5],
  ["ingest", "ingest-max-body-bytes", "SVC_INGEST_MAX_BODY_BYTES", 16 * 1024 * 1024],
  ["ingest", "commit-force-timeout-secs", "SVC_COMMIT_FORCE_TIMEOUT_SECS", 30],
  ["ingest", "auth-tokens", "SVC_AUTH_TOKENS", undefined],
  ["ingest", "oidc-issuer", "SVC_OIDC_ISSUER", undefined],
  ["ingest", "oidc-audience", "SVC_OIDC_AUDIENCE", undefined],
  ["ingest", "oidc-tenant-claim", "SVC_OIDC_TENANT_CLAIM", undefined],
  ["ingest", "trust-scope-header", "SVC_TRUST_SCOPE_HEADER", undefined],
  ["ingest", "allowed-tenants", "SVC_ALLOWED_TENANTS", undefined],
  ["ingest", "max-tenants", "SVC_MAX_TENANTS", 0],
  ["ingest", "ingest-max-lanes", "SVC_INGEST_MAX_LANES", 0],
  ["ingest", "ingest-rate-per-sec", "SVC_INGEST_RATE_PER_SEC", 0],
  ["ingest", "ingest-rate-burst", null, 0],
  ["ingest", "ingest-backpressure-capacity", null, 1024],
  ["ingest", "ingest-group-commit-ms", null, 0],
  ["ingest", "ingest-backpressure-shards", null, 1],
  ["ingest", "ingest-mem-limit-mib", null, 0],
  ["ingest", "ingest-mem-sample-secs", null, 60],
  ["ingest", "ingest-rate-redis-prefix", null, "svc:rb"],
  ["ingest", "wal-mirror-prefix", "SVC_WAL_MIRROR_PREFIX", undefined],
  [
    "ingest",
    "wal-active-mirror-interval-secs",
    "SVC_WAL_ACTIVE_MIRROR_INTERVAL_SECS",
    0,
  ],
  ["ingest", "ingest-free-space-floor-mib", "SVC_INGEST_FREE_SPACE_FLOOR_MIB", 256],
  ["compactor", "metrics-bind", null, "127.0.0.1:9101"],
  ["compactor", "data-dir", null, "./data"],
  ["compactor", "catalog-uri", "SVC_CATALOG_URI", undefined],
  ["compactor", "role", null, "combined"],
  ["query", "bind", null, "0.0.0.0:8089"],
  ["query", "metrics-bind", null, "127.0.0.1:9105"],
  ["query", "data-dir", "SVC_DATA_DIR", "./data"],
  ["query", "warehouse-url", "SVC_WAREHOUSE_URL", undefined],
  ["query", "catalog-uri", "SVC_CATALOG_URI", undefined],
  ["query", "query-wal-buffer-dir", null, undefined],
  ["query", "query-hot-caches", "SVC_QUERY_HOT_CACHES", undefined],
  ["query", "tenant-namespace", "SVC_TENANT_NAMESPACE", "svc"],
  ["query", "tokens", "SVC_QUERY_TOKENS", undefined],
  ["query", "audit-disabled", "SVC_QUERY_AUDIT_DISABLED", undefined],
  ["query", "audit-append-deadline-secs", "SVC_QUERY_AUDIT_APPEND_DEADLINE_SECS", 30],
  ["query", "oidc-issuer", "SVC_OIDC_ISSUER", undefined],
  ["query", "oidc-audience", "SVC_OIDC_AUDIENCE", undefined],
  ["query", "oidc-tenant-claim", "SVC_OIDC_TENANT_CLAIM", undefined],
  ["query", "allowed-tenants", "SVC_ALLOWED_TENANTS", undefined],
  ["query", "tls-cert", "SVC_QUERY_TLS_CERT", undefined],
  ["query", "tls-key", "SVC_QUERY_TLS_KEY", undefined],
  ["query", "query-rate-per-sec", "SVC_QUERY_RATE_PER_SEC", 0],
  ["query", "max-rows", "SVC_QUERY_MAX_ROWS", 1_000_000],
  ["query", "query-parsed-index-cache-max-bytes", "SVC_PARSED_INDEX_CACHE_MAX_BYTES", undefined],
  ["query", "query-puffin-blob-cache-max-bytes", "SVC_PUFFIN_BLOB_CACHE_MAX_BYTES", undefined],
  ["query", "query-puffin-blob-cache-max-entries", "SVC_PUFFIN_BLOB_CACHE_MAX_ENTRIES", 128],
  ["query", "jobs-postgres-uri", "SVC_JOBS_POSTGRES_URI", undefined],
  ["query", "jobs-cancel-poll-secs", "SVC_JOBS_CANCEL_POLL_SECS", 2],
  ["query", "jobs-owner-lease-secs", "SVC_JOBS_OWNER_LEASE_SECS", 120],
  ["query", "jobs-ownerless-grace-secs", "SVC_JOBS_OWNERLESS_GRACE_SECS", 86_400],
];

for (const [role, flag, env, value] of PROMISED) {
  Deno.test({
    name: `OPTIONS of ${role} has --${flag} as promised`,
    fn: () => {
      const spec = Object.values(TABLES[role]).find((candidate) => candidate.flag === flag);
      assert.ok(spec !== undefined, `no --${flag}`);
      assert.equal(spec.env ?? null, env);
      assert.equal(defaultOf(spec), value);
    },
  });
}

for (const [role, table] of Object.entries(TABLES)) {
  Deno.test({
    name: `OPTIONS of ${role} is well-formed and its help tells flag, variable and default of each`,
    fn: () => {
      const specs = Object.values(table);
      assert.equal(new Set(specs.map((spec) => spec.flag)).size, specs.length, "a flag twice");
      const help = helpText({ name: role, summary: "", options: table }).replaceAll(/\s+/g, " ");
      for (const spec of specs) {
        assert.match(spec.flag, /^[a-z0-9]+(-[a-z0-9]+)*$/);
        if (spec.env !== undefined) assert.match(spec.env, /^SVC_[A-Z0-9_]+$/, spec.flag);
        if (spec.hidden === true) continue;
        assert.ok(spec.help.endsWith("."), `--${spec.flag}: help is a sentence`);
        assert.ok(help.includes(`--${spec.flag} `), spec.flag);
        if (spec.env !== undefined) assert.ok(help.includes(`env ${spec.env}`), spec.flag);
        const value = defaultOf(spec);
        if (value !== undefined) assert.ok(help.includes(`default ${value}`), spec.flag);
      }
    },
  });

  Deno.test({
    name: `OPTIONS of ${role} are set by flag and by variable alike, and the flag wins`,
    fn: () => {
      for (const [key, spec] of Object.entries(table)) {
        const [given, other] = twoValues(spec);
        const byFlag = spec.kind === "switch" ? [`--${spec.flag}`] : [`--${spec.flag}`, given.text];
        const settings: Readonly<Record<string, unknown>> = parseOptions(table, byFlag);
        assert.deepEqual(settings[key], given.value, `--${spec.flag}`);
        const { env } = spec;
        if (env === undefined) continue;
        const valueBy = (argv: readonly string[], text: string) => {
          const parsed: Readonly<Record<string, unknown>> = parseOptions(
            table,
            argv,
            (name) => name === env ? text : undefined,
          );
          return parsed[key];
        };
        assert.deepEqual(valueBy([], given.text), given.value, env);
        assert.deepEqual(valueBy(byFlag, other.text), given.value, `--${spec.flag} over ${env}`);
      }
    },
  });

  Deno.test({
    name: `LISTENERS of ${role} are its options with the same defaults`,
    fn: () => {
      const binds = Object.values(table).filter((spec) => /(^|-)(bind|listen)$/.test(spec.flag));
      assert.deepEqual(
        Object.fromEntries(binds.map((spec) => [`--${spec.flag}`, defaultOf(spec)])),
        LISTENERS[role as Role],
      );
    },
  });
}

interface GivenValue {
  readonly text: string;
  readonly value: unknown;
}

/** Two that differ from the default and from each other. */
function twoValues(spec: OptionSpec): readonly [GivenValue, GivenValue] {
  switch (spec.kind) {
    case "switch":
      return [{ text: "on", value: true }, { text: "off", value: false }];
    case "list":
      return [{ text: "a, b", value: ["a", "b"] }, { text: "c", value: ["c"] }];
    case "integer": {
      const numbers = [spec.min, spec.max, spec.min + 1].filter((one) => one !== spec.default);
      return [at(present(numbers[0])), at(present(numbers[1]))];
    }
    case "text": {
      const [first = "some-text", second = "other-text"] =
        spec.choices?.filter((choice) => choice !== spec.default) ?? [];
      return [{ text: first, value: first }, { text: second, value: second }];
    }
  }

  function at(number: number): GivenValue {
    return { text: String(number), value: number };
  }
}

function defaultOf(spec: OptionSpec): string | number | undefined {
  return spec.kind === "text" || spec.kind === "integer" ? spec.default : undefined;
}
