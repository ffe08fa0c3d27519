/**
 * The bearer scheme: reading a token from an `Authorization` value, and the list of tokens that a
 * server takes.
 *
 * Invariants: the SHA-256 digest of a token is compared with that of every listed one. The time
 * that it takes does not depend on where they differ. Neither the token nor the header appears in
 * an error.
 */

import { createHash, timingSafeEqual } from "node:crypto";
import { OperatingError, UsageError } from "../base/errors.ts";

/** Longer ones are refused unread: an identity token of a large issuer has a few KiB. */
export const TOKEN_CHARS_MAX = 16 * 1024;

/** Why a caller is not known: the `reason` of a 401. */
export const UNAUTHENTICATED_REASONS = [
  "token_missing",
  "token_malformed",
  "token_unknown",
  "token_invalid",
  "token_expired",
  "token_claims",
  "token_unknown_key",
] as const;
export type UnauthenticatedReason = typeof UNAUTHENTICATED_REASONS[number];

const SEND_ONE = "send the header Authorization: Bearer <token>";
const GET_ANOTHER = "get a new token from the issuer";

/** What a caller does about each. */
const REMEDIES: { readonly [R in UnauthenticatedReason]: string } = {
  token_missing: SEND_ONE,
  token_malformed: SEND_ONE,
  token_unknown: "send one that it was started with, as Authorization: Bearer or, to " +
    "PostgreSQL's port, as password",
  token_invalid: GET_ANOTHER,
  token_expired: GET_ANOTHER,
  token_claims: "have the issuer make a token for --oidc-issuer and --oidc-audience of this server",
  token_unknown_key: GET_ANOTHER,
};

/** The token of `Authorization: Bearer <token>`. Errors: `unauthenticated`. */
export function bearerTokenOf(authorization: string | null): string {
  if (authorization === null) {
    throw unauthenticated("this server needs a token", "token_missing");
  }
  if (authorization.length > TOKEN_CHARS_MAX) {
    throw unauthenticated(
      `the Authorization header of ${authorization.length} characters is longer than the ` +
        `${TOKEN_CHARS_MAX} that are read, so the issuer must put less into the token`,
      "token_malformed",
    );
  }
  const token = /^bearer +([^\s,]+)$/i.exec(authorization)?.[1];
  if (token === undefined) {
    throw unauthenticated("the Authorization header holds no bearer token", "token_malformed");
  }
  return token;
}

/** SHA-256 of a token: what stands for it wherever it is compared, counted or kept. */
export function tokenDigest(token: string): Uint8Array {
  return createHash("sha256").update(token).digest();
}

export class BearerTokens {
  readonly #digests: readonly Uint8Array[];

  /**
   * `tokens` must not be empty: that would be a server which nobody can use. Errors:
   * `invalid_argument` for one that no request can bring.
   */
  constructor(tokens: readonly string[]) {
    const unusable = tokens.findIndex((token) => !SENDABLE.test(token));
    if (unusable >= 0) throw unsendable(unusable + 1);
    this.#digests = tokens.map(tokenDigest);
  }

  /** Whether the token with this digest is listed; always compares with all of them. */
  accepts(digest: Uint8Array): boolean {
    let found = false;
    for (const listed of this.#digests) {
      const equal = timingSafeEqual(listed, digest);
      found = found || equal;
    }
    return found;
  }
}

/** What `bearerTokenOf` reads. */
const SENDABLE = /^[^\s,]+$/;

function unsendable(place: number): OperatingError {
  return new UsageError(
    `cannot take token ${place} of the list (--auth-tokens, of the query server --tokens): no Authorization header ` +
      "brings one with a space; drop that",
  );
}

/** A 401; its answer carries `WWW-Authenticate: Bearer` (`shared/http`). */
export function unauthenticated(
  message: string,
  reason: UnauthenticatedReason,
): OperatingError {
  return new OperatingError(
    "unauthenticated",
    `${message}: ${REMEDIES[reason]}`,
    { reason },
  );
}
