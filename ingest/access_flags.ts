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
    help: "Tenants that may write, comma-separated; all tenants when not given.",
  },
  maxTenants: {
    kind: "integer",
    flag: "max-tenants",
    env: "SVC_MAX_TENANTS",
    placeholder: "n",
    default: 0,
    min: 0,
    max: 1_000_000,
    help: "Most tenants that this process accepts. Requests of a further one are refused with " +
      "403. 0: no limit.",
  },
  ingestRatePerSec: {
    kind: "integer",
    flag: "ingest-rate-per-sec",
    env: "SVC_INGEST_RATE_PER_SEC",
    placeholder: "n",
    default: 0,
    min: 0,
    max: 1_000_000,
    help: "Most requests a second of each bearer token, or of each address in open mode; 0: no " +
      "limit.",
  },
  ingestRateBurst: {
    kind: "integer",
    flag: "ingest-rate-burst",
    placeholder: "n",
    default: 0,
    min: 0,
    max: 10_000_000,
    help: "Most requests at once after a pause; 0: as many as the rate allows in one second.",
  },
  ingestRateRedisUrl: {
    kind: "text",
    flag: "ingest-rate-redis-url",
    env: "SVC_INGEST_RATE_REDIS_URL",
    placeholder: "url",
    help: "Redis that counts the requests to all replicas together. Without it, and while it " +
      "cannot be reached, each process counts its own requests. The start waits for it for " +
      "5 s at most.",
  },
  ingestRateRedisPrefix: {
    kind: "text",
    flag: "ingest-rate-redis-prefix",
    placeholder: "text",
    default: "svc:rb",
    help: "Prefix of the keys in Redis.",
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
