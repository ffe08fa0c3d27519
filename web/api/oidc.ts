/**
 * The authorization code flow with PKCE of a public client, without a page or a store.
 * Sources: OpenID Connect Core 1.0 and Discovery 1.0, RFC 6749, RFC 7636, RFC 9207.
 */

import type { OidcConfig } from "./sign_in_config.ts";

/** What is kept between leaving for the issuer and coming back. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
}

/** What the issuer gives for a code. */
export interface IssuedTokens {
  /** What requests carry. */
  readonly bearer: string;
  readonly refreshToken: string | undefined;
  /** Unix milliseconds; undefined where the issuer does not say. */
  readonly expiresAtMs: number | undefined;
}

/** The issuer does not take a code or a refresh token, and never will: RFC 6749, 5.2. */
export class GrantRefused extends Error {
  override readonly name = "GrantRefused";
}

interface Metadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
}

const ANSWER_MS_MAX = 15_000;
const RANDOM_BYTES = 32;

/** Begins: the address of the issuer to go to, and what `finishSignIn` needs afterwards. */
export async function beginSignIn(
  config: OidcConfig,
  redirectUri: string,
): Promise<{ readonly url: URL; readonly attempt: SignInAttempt }> {
  const { authorization_endpoint } = await metadataOf(config);
  const attempt = { state: random(), nonce: random(), verifier: random(), redirectUri };
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(attempt.verifier));
  const url = new URL(authorization_endpoint);
  const asked = {
    response_type: "code",
    client_id: config.client_id,
    scope: config.scope,
    redirect_uri: redirectUri,
    state: attempt.state,
    nonce: attempt.nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
    // Without consent an issuer leaves offline access out.
    ...(config.scope.split(" ").includes("offline_access") ? { prompt: "consent" } : {}),
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  return { url, attempt };
}

/**
 * Exchanges the code that the issuer led back with. Errors: `Error` with what the issuer says, or
 * what does not hold.
 */
export async function finishSignIn(
  config: OidcConfig,
  attempt: SignInAttempt,
  answer: URLSearchParams,
): Promise<IssuedTokens> {
  const refused = answer.get("error");
  if (refused !== null) throw new Error(answer.get("error_description") ?? refused);
  const issuer = answer.get("iss");
  if (issuer !== null && issuer !== config.issuer) {
    throw new Error(`The answer is of another issuer: ${issuer}.`);
  }
  const code = answer.get("code");
  if (answer.get("state") !== attempt.state || code === null) {
    throw new Error("The answer belongs to no sign-in of this page.");
  }
  const tokens = await askForTokens(config, {
    grant_type: "authorization_code",
    code,
    redirect_uri: attempt.redirectUri,
    code_verifier: attempt.verifier,
  });
  if (claimsOf(tokens.id_token)["nonce"] !== attempt.nonce) {
    throw new Error("The ID token was made for another sign-in.");
  }
  return issuedOf(config, tokens, undefined);
}

/**
 * Renews tokens without the user. Errors: `GrantRefused` where the issuer wants to see the user
 * again; `Error` where it has no answer.
 */
export async function renewTokens(config: OidcConfig, refreshToken: string): Promise<IssuedTokens> {
  const tokens = await askForTokens(config, {
    grant_type: "refresh_token",
    refresh_token: refreshToken,
  });
  return issuedOf(config, tokens, refreshToken);
}

interface TokenAnswer {
  readonly access_token?: string;
  readonly id_token?: string;
  readonly refresh_token?: string;
  readonly expires_in?: number;
}

async function askForTokens(
  config: OidcConfig,
  asked: Readonly<Record<string, string>>,
): Promise<TokenAnswer> {
  const { token_endpoint } = await metadataOf(config);
  const response = await fetch(token_endpoint, {
    method: "POST",
    body: new URLSearchParams({ ...asked, client_id: config.client_id }),
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
    credentials: "omit",
  }).catch((cause) => {
    throw new Error(`The issuer cannot be asked for a token at ${token_endpoint}.`, { cause });
  });
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  const told = body.error_description ?? body.error ?? `The issuer says HTTP ${response.status}.`;
  throw body.error === "invalid_grant" ? new GrantRefused(told) : new Error(told);
}

function issuedOf(
  { bearer: kind }: OidcConfig,
  tokens: TokenAnswer,
  refreshToken: string | undefined,
): IssuedTokens {
  const bearer = tokens[kind];
  if (bearer === undefined) throw new Error(`The issuer gives no ${kind.replace("_", " ")}.`);
  const exp = claimsOf(bearer)["exp"];
  const lifeMs = tokens.expires_in === undefined ? undefined : tokens.expires_in * 1_000;
  return {
    bearer,
    refreshToken: tokens.refresh_token ?? refreshToken,
    expiresAtMs: typeof exp === "number"
      ? exp * 1_000
      : lifeMs === undefined
      ? undefined
      : Date.now() + lifeMs,
  };
}

/** Claims as they are: the server verifies what it is sent. */
function claimsOf(token: string | undefined): Readonly<Record<string, unknown>> {
  const body = token?.split(".")[1];
  if (body === undefined) return {};
  try {
    const bytes = Uint8Array.from(
      atob(body.replaceAll("-", "+").replaceAll("_", "/")),
      (letter) => letter.charCodeAt(0),
    );
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return {};
  }
}

async function metadataOf({ issuer }: OidcConfig): Promise<Metadata> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const response = await fetch(url, {
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
    credentials: "omit",
  }).catch((cause) => {
    throw new Error(`The issuer cannot be reached at ${url}.`, { cause });
  });
  if (!response.ok) throw new Error(`The issuer says HTTP ${response.status} at ${url}.`);
  const metadata: Metadata = await response.json();
  if (metadata.issuer !== issuer) {
    throw new Error(`The issuer calls itself ${metadata.issuer}, not ${issuer}.`);
  }
  return metadata;
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_")
    .replaceAll("=", "");
}
