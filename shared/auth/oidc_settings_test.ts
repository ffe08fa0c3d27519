import assert from "node:assert/strict";
import { type OidcOptions, oidcSettingsOf } from "./oidc_settings.ts";

const ISSUER = "https://issuer.example/realm";

function options(issuer?: string, audience?: string, claim?: string): OidcOptions {
  return { oidcIssuer: issuer, oidcAudience: audience, oidcTenantClaim: claim };
}

Deno.test({
  name: "oidcSettingsOf is on with issuer and audience, off with neither",
  fn: () => {
    assert.equal(oidcSettingsOf(options()), undefined);
    const on = { issuer: ISSUER, audience: "aud" };
    assert.deepEqual(oidcSettingsOf(options(ISSUER, "aud")), on);
    assert.deepEqual(oidcSettingsOf(options(ISSUER, "aud", "org")), on);
  },
});

const REFUSED: [given: OidcOptions, message: RegExp][] = [
  [options(undefined, undefined, "org"), /with --oidc-tenant-claim alone: give --oidc-issuer/],
  [options(ISSUER), /with --oidc-issuer alone/],
  [options(undefined, "aud"), /with --oidc-audience alone/],
  [options(ISSUER, undefined, "org"), /with --oidc-issuer and --oidc-tenant-claim alone/],
  [options(undefined, "aud", "org"), /with --oidc-audience and --oidc-tenant-claim alone/],
  [options("issuer.example", "aud"), /cannot use --oidc-issuer/],
  [options("file:///etc", "aud"), /cannot use --oidc-issuer/],
  [options("https://user:secret@issuer.example", "aud"), /^(?!.*secret).*cannot use --oidc-issuer/],
  [options(`${ISSUER}?x=1`, "aud"), /cannot use --oidc-issuer/],
  [options(ISSUER, ""), /with --oidc-audience "", which no token has/],
  [options(ISSUER, "aud", " "), /with --oidc-tenant-claim " ", which no token has/],
];

for (const [given, message] of REFUSED) {
  Deno.test({
    name: `oidcSettingsOf refuses ${JSON.stringify(given)}`,
    fn: () => assert.throws(() => oidcSettingsOf(given), { code: "invalid_argument", message }),
  });
}
