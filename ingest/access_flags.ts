/** Options of who may write, and how fast: docs/api/README.md#who-may-call. */

import type { OptionTable } from "../shared/config/options.ts";

export const ACCESS_OPTIONS = {
  authTokens: {
    kind: "list",
    flag: "auth-tokens",
    env: "SVC_AUTH_TOKENS",
    placeholder: "tokens",
    itemRequired: true,
    help: "Bearer tokens that may write, comma-separated; without tokens and OIDC anybody may.",
  },
  oidcIssuer: {
    kind: "text",
    flag: "oidc-issuer",
    env: "SVC_OIDC_ISSUER",
    placeholder: "url",
    help: "Issuer whose tokens may write, exactly as its discovery document names it; " +
      "wins over --auth-tokens.",
  },
  oidcAudience: {
    kind: "text",
    flag: "oidc-audience",
    env: "SVC_OIDC_AUDIENCE",
    placeholder: "name",
    help: "Audience that tokens of the issuer must have.",
  },
  oidcTenantClaim: {
    kind: "text",
    flag: "oidc-tenant-claim",
    env: "SVC_OIDC_TENANT_CLAIM",
    placeholder: "claim",
    help: "Claim that names the tenant; needs --oidc-issuer and --oidc-audience.",
  },
  trustScopeHeader: {
    kind: "switch",
    flag: "trust-scope-header",
    env: "SVC_TRUST_SCOPE_HEADER",
    help: "Let X-Scope-OrgID choose the tenant; only behind a gateway that sets it.",
  },
  allowedTenants: {
    kind: "list",
    flag: "allowed-tenants",
    env: "SVC_ALLOWED_TENANTS",
    placeholder: "names",
    help: "Tenants that may write, comma-separated; without one any.",
  },
  maxTenants: {
    kind: "integer",
    flag: "max-tenants",
    env: "SVC_MAX_TENANTS",
    placeholder: "n",
    default: 0,
    min: 0,
    max: 1_000_000,
    help: "Distinct tenants this process admits, 0 for no bound; past it the answer is 403.",
  },
  ingestRatePerSec: {
    kind: "integer",
    flag: "ingest-rate-per-sec",
    env: "SVC_INGEST_RATE_PER_SEC",
    placeholder: "n",
    default: 0,
    min: 0,
    max: 1_000_000,
    help: "Requests a second for each bearer token, in open mode for each address; 0 for no limit.",
  },
  ingestRateBurst: {
    kind: "integer",
    flag: "ingest-rate-burst",
    placeholder: "n",
    default: 0,
    min: 0,
    max: 10_000_000,
    help: "Requests at once after a pause, 0 for as many as one second allows.",
  },
  ingestRateRedisUrl: {
    kind: "text",
    flag: "ingest-rate-redis-url",
    env: "SVC_INGEST_RATE_REDIS_URL",
    placeholder: "url",
    help: "Redis that holds the budgets of all replicas; without it, and while it is away, each " +
      "process has its own. A start waits for it for 5 s at most.",
  },
  ingestRateRedisPrefix: {
    kind: "text",
    flag: "ingest-rate-redis-prefix",
    placeholder: "text",
    default: "svc:rb",
    help: "What the keys of the budgets in Redis begin with.",
  },
  tlsCert: {
    kind: "text",
    flag: "tls-cert",
    env: "SVC_INGEST_TLS_CERT",
    placeholder: "file",
    help: "PEM file with the certificate chain to serve TLS with; needs --tls-key.",
  },
  tlsKey: {
    kind: "text",
    flag: "tls-key",
    env: "SVC_INGEST_TLS_KEY",
    placeholder: "file",
    help: "PEM file with the certificate's key; needs --tls-cert.",
  },
} as const satisfies OptionTable;
