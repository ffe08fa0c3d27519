/** Which options of OIDC go together, checked at startup: docs/api/README.md#who-may-call. */

import { UsageError } from "../base/errors.ts";
import type { OidcSettings } from "./oidc.ts";

export interface OidcOptions {
  readonly oidcIssuer: string | undefined;
  readonly oidcAudience: string | undefined;
  readonly oidcTenantClaim: string | undefined;
}

/** Undefined when OIDC is off. Errors: `invalid_argument` for options that do not go together. */
export function oidcSettingsOf(options: OidcOptions): OidcSettings | undefined {
  const { oidcIssuer: issuer, oidcAudience: audience, oidcTenantClaim: claim } = options;
  if (issuer !== undefined && audience !== undefined) {
    requireIssuerUrl(issuer);
    requireSomething("--oidc-audience", audience);
    requireSomething("--oidc-tenant-claim", claim);
    return { issuer, audience };
  }
  const set = Object.entries({
    "--oidc-issuer": issuer,
    "--oidc-audience": audience,
    "--oidc-tenant-claim": claim,
  }).filter(([, value]) => value !== undefined).map(([flag]) => flag);
  if (set.length === 0) return undefined;
  throw new UsageError(
    `cannot check tokens with ${
      set.join(" and ")
    } alone: give --oidc-issuer and --oidc-audience, ` +
      "or none of these",
  );
}

/** A variable that the shell did not know, most likely: as it is, it would refuse every token. */
function requireSomething(flag: string, value: string | undefined): void {
  if (value === undefined || value.trim() !== "") return;
  throw new UsageError(
    `cannot check tokens with ${flag} ${
      JSON.stringify(value)
    }, which no token has: give a name, or leave it out`,
  );
}

function requireIssuerUrl(issuer: string): void {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const web = url?.protocol === "https:" || url?.protocol === "http:";
  if (url !== undefined && web && url.username === "" && url.search === "" && url.hash === "") {
    return;
  }
  throw new UsageError(
    "cannot use --oidc-issuer: give an https:// URL without user, query or fragment, " +
      "exactly as the issuer's discovery document has it",
  );
}
