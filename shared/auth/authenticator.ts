/**
 * Who sends a request: open, static tokens or OIDC (docs/api/README.md#who-may-call). It serves
 * every role and protocol alike: it takes the value of `Authorization`, which HTTP has as a header
 * and gRPC as metadata.
 */

import { bearerTokenOf, BearerTokens, tokenDigest, unauthenticated } from "./bearer_tokens.ts";
import type { IssuerKeysOptions } from "./issuer_keys.ts";
import { type Identity, type OidcSettings, OidcVerifier } from "./oidc.ts";

export type AuthMode = "open" | "tokens" | "oidc";

/** Who sent a request, as far as the server's mode tells. */
export interface Caller {
  /**
   * SHA-256 of the bearer token in hexadecimal; undefined in open mode, where nobody looks at
   * tokens.
   */
  readonly tokenDigest?: string;
  /** With OIDC only: static tokens identify nobody. */
  readonly identity?: Identity;
}

export interface AuthSettings {
  /** Empty: no static tokens. */
  readonly tokens: readonly string[];
  /** Wins over tokens. */
  readonly oidc: OidcSettings | undefined;
}

const ANYBODY: Promise<Caller> = Promise.resolve({});

export class Authenticator implements AsyncDisposable {
  readonly #tokens: BearerTokens | undefined;
  readonly #oidc: OidcVerifier | undefined;

  constructor(settings: AuthSettings, options: IssuerKeysOptions) {
    if (settings.oidc !== undefined) {
      this.#oidc = new OidcVerifier(settings.oidc, options);
      this.#oidc.start();
    } else if (settings.tokens.length > 0) {
      this.#tokens = new BearerTokens(settings.tokens);
    }
  }

  get mode(): AuthMode {
    if (this.#oidc !== undefined) return "oidc";
    return this.#tokens === undefined ? "open" : "tokens";
  }

  /**
   * Errors: `unauthenticated`; with OIDC also `unavailable` when the token cannot be judged now.
   */
  authenticate(authorization: string | null): Promise<Caller> {
    if (this.#oidc === undefined && this.#tokens === undefined) return ANYBODY;
    return this.#judge(authorization);
  }

  async #judge(authorization: string | null): Promise<Caller> {
    const token = bearerTokenOf(authorization);
    const digest = tokenDigest(token);
    const hex = digest.toHex();
    if (this.#oidc !== undefined) {
      return { tokenDigest: hex, identity: await this.#oidc.verify(token, hex) };
    }
    if (!this.#tokens?.accepts(digest)) {
      throw unauthenticated("the bearer token is not one of this server's", "token_unknown");
    }
    return { tokenDigest: hex };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#oidc?.[Symbol.asyncDispose]();
  }
}
