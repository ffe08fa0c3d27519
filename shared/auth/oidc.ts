/**
 * Verifies the tokens of one OpenID Connect issuer: signature by one of its keys, `iss`, `aud`,
 * `exp`, `nbf`, `sub`.
 *
 * Invariants: only asymmetric signatures count, so nothing that the issuer publishes can be used to
 * sign. A token that cannot be judged because the issuer is away is answered 503, never let in and
 * never called invalid. No claim and no part of a token appears in an error.
 *
 * A verified token is remembered for a minute, until it expires or the keys change, whichever is
 * first: senders repeat theirs with every batch. Not covered: revoking single tokens, encrypted
 * tokens, opaque tokens.
 */

import { decodeJwt, errors, type JWTPayload, jwtVerify, type JWTVerifyOptions } from "jose";
import { OperatingError } from "../base/errors.ts";
import type { Clock } from "../os/clock.ts";
import { unauthenticated } from "./bearer_tokens.ts";
import { IssuerKeys, type IssuerKeysOptions, type KeySet, notYetKnown } from "./issuer_keys.ts";

/** Whom a verified token stands for, and its claims. */
export interface Identity {
  /** `sub`. */
  readonly subject: string;
  readonly email?: string;
  /** Everything that the token says, verified. */
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface OidcSettings {
  readonly issuer: string;
  readonly audience: string;
}

const ALGORITHMS = [
  ...["RS256", "RS384", "RS512"],
  ...["PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512"],
  ...["EdDSA", "Ed25519"],
];
/** How far the issuer's clock and ours may differ. */
const CLOCK_SKEW_SECS = 30;
const REMEMBERED_MS_MAX = 60_000;
const REMEMBERED_TOKENS_MAX = 4_096;

interface Remembered {
  readonly identity: Identity;
  readonly keys: KeySet;
  readonly untilMs: number;
}

export class OidcVerifier implements AsyncDisposable {
  readonly #keys: IssuerKeys;
  readonly #clock: Clock;
  readonly #options: JWTVerifyOptions;
  readonly #remembered = new Map<string, Remembered>();

  constructor(settings: OidcSettings, options: IssuerKeysOptions) {
    this.#clock = options.clock;
    this.#keys = new IssuerKeys(settings.issuer, options);
    this.#options = {
      issuer: settings.issuer,
      audience: settings.audience,
      algorithms: ALGORITHMS,
      requiredClaims: ["exp", "sub"],
      clockTolerance: CLOCK_SKEW_SECS,
    };
  }

  /** Begins to fetch keys in the background; a token that comes before waits for them. */
  start(): void {
    this.#keys.start();
  }

  /**
   * Whom `token` stands for; `digest` stands for it in memory. Errors: `unauthenticated`, or
   * `unavailable` with a retry hint when the issuer's keys cannot be had.
   */
  async verify(token: string, digest: string): Promise<Identity> {
    const keys = await this.#keys.current();
    const known = this.#remembered.get(digest);
    if (known !== undefined && known.keys === keys && this.#clock.nowMs() < known.untilMs) {
      return known.identity;
    }
    try {
      return await this.#check(token, { digest, keys });
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw refusal(error);
    }
    const newer = await this.#keys.newerThan(keys);
    if (newer === keys) {
      throw isIssuedSince(keys, token) ? notYetKnown() : refusal(new errors.JWKSNoMatchingKey());
    }
    return await this.#check(token, { digest, keys: newer }).catch((error) => {
      throw refusal(error);
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#keys[Symbol.asyncDispose]();
  }

  async #check(token: string, by: { digest: string; keys: KeySet }): Promise<Identity> {
    const options = { ...this.#options, currentDate: new Date(this.#clock.nowMs()) };
    const claims = await verifyByAny(token, by.keys, options);
    const identity = identityOf(claims);
    this.#remember(by.digest, {
      identity,
      keys: by.keys,
      untilMs: Math.min(this.#clock.nowMs() + REMEMBERED_MS_MAX, (claims.exp ?? 0) * 1_000),
    });
    return identity;
  }

  #remember(digest: string, entry: Remembered): void {
    this.#remembered.delete(digest);
    if (this.#remembered.size >= REMEMBERED_TOKENS_MAX) {
      for (const oldest of this.#remembered.keys()) {
        this.#remembered.delete(oldest);
        break;
      }
    }
    this.#remembered.set(digest, entry);
  }
}

/** Whether a token says that it is younger than what is known of the keys; it is not verified. */
function isIssuedSince({ fetchedAtUnixMs }: KeySet, token: string): boolean {
  try {
    return (decodeJwt(token).iat ?? 0) * 1_000 >= fetchedAtUnixMs;
  } catch {
    return false;
  }
}

/** A token without a key id is tried with each key that fits its algorithm. */
async function verifyByAny(
  token: string,
  keys: KeySet,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, keys.find, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (refused) {
        if (!(refused instanceof errors.JWSSignatureVerificationFailed)) throw refused;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

function identityOf(claims: JWTPayload): Identity {
  const { sub, email } = claims;
  if (typeof sub !== "string" || sub === "") throw new errors.JWTInvalid();
  return { subject: sub, ...(typeof email === "string" ? { email } : {}), claims };
}

/** What a client learns: enough to mend its configuration, nothing of the token. */
function refusal(error: unknown): OperatingError {
  if (error instanceof errors.JWTExpired) {
    return unauthenticated("the bearer token has expired", "token_expired");
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    return unauthenticated(
      `the bearer token was not issued for this: claim ${error.claim} is not what it must be`,
      "token_claims",
    );
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return unauthenticated(
      "the bearer token is not signed by a key of the issuer",
      "token_unknown_key",
    );
  }
  return unauthenticated("the bearer token is not a valid token of the issuer", "token_invalid");
}
