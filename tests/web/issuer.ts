/** An OpenID provider, as npm has it, with a form for any name. */

import { once } from "node:events";
import type { Server } from "node:http";
import Provider from "oidc-provider";

export const CLIENT_ID = "svc-page";
export const AUDIENCE = "svc-logs";

export interface IssuerOptions {
  readonly port: number;
  /** Addresses that it may lead back to. */
  readonly redirectUris: readonly string[];
  readonly tokenSecs: number;
  /** Seconds of a refresh token, which only `offline_access` gets. */
  readonly refreshSecs: number;
}

export interface Issuer extends AsyncDisposable {
  readonly url: string;
  /** How often a code, and how often a refresh token was exchanged. */
  readonly exchanged: { codes: number; refreshes: number };
}

interface GrantedContext {
  readonly oidc: { readonly params: Readonly<Record<string, string>> };
}

/** The address of an issuer at `port`. */
export function issuerUrl(port: number): string {
  return `http://127.0.0.1:${port}`;
}

export async function startIssuer(
  { port, redirectUris, tokenSecs, refreshSecs }: IssuerOptions,
): Promise<Issuer> {
  const provider = new Provider(issuerUrl(port), {
    clients: [{
      client_id: CLIENT_ID,
      token_endpoint_auth_method: "none",
      redirect_uris: [...redirectUris],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    }],
    pkce: { required: () => true },
    clientBasedCORS: () => true,
    // The name that was typed is the subject.
    findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub }) }),
    ttl: { RefreshToken: refreshSecs, AccessToken: tokenSecs, IdToken: tokenSecs },
    features: {
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => `urn:${AUDIENCE}`,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: "",
          audience: AUDIENCE,
          accessTokenFormat: "jwt",
          accessTokenTTL: tokenSecs,
        }),
      },
    },
  });
  const exchanged = { codes: 0, refreshes: 0 };
  provider.on("grant.success", ({ oidc }: GrantedContext) => {
    if (oidc.params["grant_type"] === "refresh_token") exchanged.refreshes += 1;
    else exchanged.codes += 1;
  });
  const server: Server = provider.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    url: issuerUrl(port),
    exchanged,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
