/** Options of who may read, what, and how often: docs/api/README.md#who-may-call. */

import type { OptionTable } from "../shared/config/options.ts";

export const ACCESS_OPTIONS = {
  tokens: {
    kind: "list",
    flag: "tokens",
    env: "SVC_QUERY_TOKENS",
    placeholder: "TOKENS",
    itemRequired: true,
    help: "Bearer tokens that may read, comma-separated; without tokens and OIDC anybody may.",
  },
  oidcIssuer: {
    kind: "text",
    flag: "oidc-issuer",
    env: "SVC_OIDC_ISSUER",
    placeholder: "URL",
    help: "Issuer whose tokens may read, exactly as its discovery document names it; wins over " +
      "--tokens. The ingest server reads the same variables.",
  },
  oidcAudience: {
    kind: "text",
    flag: "oidc-audience",
    env: "SVC_OIDC_AUDIENCE",
    placeholder: "NAME",
    help: "Audience that tokens of the issuer must have.",
  },
  oidcTenantClaim: {
    kind: "text",
    flag: "oidc-tenant-claim",
    env: "SVC_OIDC_TENANT_CLAIM",
    placeholder: "CLAIM",
    help: "Claim that names the tenant. Each tenant reads only its own namespace. Needs " +
      "--oidc-issuer and --oidc-audience.",
  },
  allowedTenants: {
    kind: "list",
    flag: "allowed-tenants",
    env: "SVC_ALLOWED_TENANTS",
    placeholder: "NAMES",
    help: "Tenants that the claim may name, comma-separated; all tenants when not given.",
  },
  walMirrorPrefix: {
    kind: "text",
    flag: "wal-mirror-prefix",
    env: "SVC_WAL_MIRROR_PREFIX",
    placeholder: "PREFIX",
    emptyCounts: true,
    help: "Prefix of the ingest server's mirror: no tenant may have the name of its first folder.",
  },
  queryRatePerSec: {
    kind: "integer",
    flag: "query-rate-per-sec",
    env: "SVC_QUERY_RATE_PER_SEC",
    placeholder: "N",
    default: 0,
    min: 0,
    max: 1_000_000,
    help: "Most requests a second of each bearer token, or of each address in open mode; 0: no " +
      "limit.",
  },
  queryRateBurst: {
    kind: "integer",
    flag: "query-rate-burst",
    env: "SVC_QUERY_RATE_BURST",
    placeholder: "N",
    default: 0,
    min: 0,
    max: 10_000_000,
    help: "Most requests at once after a pause; 0: as many as the rate allows in one second.",
  },
  tlsCert: {
    kind: "text",
    flag: "tls-cert",
    env: "SVC_QUERY_TLS_CERT",
    placeholder: "FILE",
    help: "PEM file with the certificate chain to serve HTTPS with; needs --tls-key.",
  },
  tlsKey: {
    kind: "text",
    flag: "tls-key",
    env: "SVC_QUERY_TLS_KEY",
    placeholder: "FILE",
    help: "PEM file with the certificate's key; needs --tls-cert.",
  },
} as const satisfies OptionTable;
