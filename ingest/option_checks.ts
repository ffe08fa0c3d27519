/**
 * Options that contradict each other, and options that do nothing as others are set. The first stop
 * the start. The second are warnings in the log, because somebody meant them.
 */

import { UsageError } from "../shared/base/errors.ts";
import { type IngestSettings, OPTIONS } from "./flags.ts";
import { mirrorPrefixOf } from "./mirror_prefix.ts";
import { requireRedisUrl } from "./rate_limit/rate_limit_redis.ts";

type OptionName = keyof typeof OPTIONS;

/**
 * `drainsHere`: a compactor runs in this process. Throws `invalid_argument`, naming the options.
 */
export function requireSense(
  settings: IngestSettings,
  { drainsHere }: { readonly drainsHere: boolean },
): void {
  const { ingestRateRedisUrl, esCompatVersion, remoteDrain, queryUrl } = settings;
  if (ingestRateRedisUrl !== undefined) requireRedisUrl(ingestRateRedisUrl);
  if (drainsHere && remoteDrain) {
    throw new UsageError(
      "cannot drain in this process (--with-compactor) and leave it to compactors elsewhere (--remote-drain): " +
        "drop one of them",
    );
  }
  if (!/^[0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4}$/.test(esCompatVersion)) {
    throw new UsageError(
      `cannot tell clients the version ${
        JSON.stringify(esCompatVersion)
      } of --es-compat-version: ` +
        `they parse three numbers, for example ${OPTIONS.esCompatVersion.default}`,
    );
  }
  if (queryUrl !== undefined) requireHttpUrl(queryUrl);
  requireReachableTenant(settings);
}

function requireHttpUrl(text: string): void {
  const { protocol = "", pathname = "", username = "" } = URL.canParse(text) ? new URL(text) : {};
  if (/^https?:$/.test(protocol) && pathname === "/" && username === "") return;
  throw new UsageError(
    "cannot ask the query server of --query-url: give its base address, for example http://127.0.0.1:8089",
  );
}

/** With one tenant only, a list without it refuses every request. */
function requireReachableTenant(settings: IngestSettings): void {
  const { allowedTenants } = settings;
  if (!isSingleTenant(settings)) return;
  if (allowedTenants.length === 0 || allowedTenants.includes("default")) return;
  throw new UsageError(
    `cannot let only ${allowedTenants.join(", ")} write (--allowed-tenants): without ` +
      `--oidc-tenant-claim or --trust-scope-header every request is of tenant default; give one of these, or ` +
      `allow default`,
  );
}

interface Idle {
  readonly options: readonly OptionName[];
  readonly when: (settings: IngestSettings) => boolean;
  readonly because: string;
}

const IDLE: readonly Idle[] = [
  {
    options: ["ingestRateBurst", "ingestRateRedisUrl", "ingestRateRedisPrefix"],
    when: ({ ingestRatePerSec }) => ingestRatePerSec === 0,
    because: "there is no rate limit without --ingest-rate-per-sec",
  },
  {
    options: ["ingestRateRedisPrefix"],
    when: (settings) => settings.ingestRatePerSec > 0 && settings.ingestRateRedisUrl === undefined,
    because: "budgets are in Redis only with --ingest-rate-redis-url",
  },
  {
    options: ["ingestMemSampleSecs"],
    when: ({ ingestMemLimitMib }) => ingestMemLimitMib === 0,
    because: "memory has no bound without --ingest-mem-limit-mib",
  },
  {
    options: ["otlpGrpcListen"],
    when: ({ disableOtlpGrpc }) => disableOtlpGrpc,
    because: "--disable-otlp-grpc is set",
  },
  {
    options: ["authTokens"],
    when: ({ oidcIssuer }) => oidcIssuer !== undefined,
    because: "with --oidc-issuer only its tokens may write",
  },
  {
    options: ["trustScopeHeader"],
    when: ({ oidcTenantClaim }) => oidcTenantClaim !== undefined,
    because: "the claim of --oidc-tenant-claim decides, and a header must agree with it",
  },
  {
    options: ["allowedTenants", "maxTenants"],
    when: isSingleTenant,
    because:
      "every request is of tenant default without --oidc-tenant-claim or --trust-scope-header",
  },
  {
    options: ["walActiveMirrorIntervalSecs"],
    when: (settings) => mirrorPrefixOf(settings) === "",
    because: "there is no mirror without --warehouse-url or --wal-mirror-prefix",
  },
];

/** A sentence for each option that was given and does nothing. */
export function idleOptions(settings: IngestSettings): string[] {
  return IDLE.filter(({ when }) => when(settings)).flatMap(({ options, because }) =>
    options.filter((name) => isGiven(settings, name)).map((name) =>
      `--${OPTIONS[name].flag} has no effect: ${because}`
    )
  );
}

export function isSingleTenant({ oidcTenantClaim, trustScopeHeader }: IngestSettings): boolean {
  return oidcTenantClaim === undefined && !trustScopeHeader;
}

/** Whether an option differs from what it is when nobody gives it. */
function isGiven(settings: IngestSettings, name: OptionName): boolean {
  const value = settings[name];
  const option = OPTIONS[name];
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === "boolean") return value;
  return value !== ("default" in option ? option.default : undefined);
}
