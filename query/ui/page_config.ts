/** What the page is told before anybody is signed in, from the options. */

import type { AuthMode } from "../../shared/auth/authenticator.ts";
import { UsageError } from "../../shared/base/errors.ts";
import type { Settings } from "../../shared/config/options.ts";
import type { ACCESS_OPTIONS } from "../access_flags.ts";
import type { PAGE_OPTIONS } from "./page_flags.ts";

export type PageSettings =
  & Settings<typeof PAGE_OPTIONS>
  & Pick<Settings<typeof ACCESS_OPTIONS>, "oidcIssuer" | "oidcAudience">;

/** `GET /ui/config.json`. Nothing in it is a secret. */
export interface PageConfig {
  /** How a person is let in; `oidc` is there for a sign-in at the issuer. */
  readonly auth: AuthMode;
  readonly oidc?: {
    readonly issuer: string;
    readonly client_id: string;
    readonly scope: string;
    /** Which of the issuer's tokens has the audience that the server asks for. */
    readonly bearer: "access_token" | "id_token";
  };
}

const BASE_PATH = /^(?:\/[A-Za-z0-9._~-]+)+$/;

/** Errors: `invalid_argument` for options that do not go together. */
export function pageConfigOf(settings: PageSettings, auth: AuthMode): PageConfig {
  const { oidcClientId: clientId, oidcIssuer: issuer, oidcAudience, oidcScope: scope } = settings;
  if (clientId === undefined) return { auth };
  if (issuer === undefined) {
    throw new UsageError(
      "Cannot sign people in with --oidc-client-id alone: give --oidc-issuer and --oidc-audience too",
    );
  }
  if (!scope.split(" ").includes("openid")) {
    throw new UsageError(
      `Cannot sign people in with --oidc-scope ${JSON.stringify(scope)}: openid must be in it`,
    );
  }
  // An ID token is for its client; a token for an API of its own is an access token.
  const bearer = oidcAudience === clientId ? "id_token" : "access_token";
  return { auth, oidc: { issuer, client_id: clientId, scope, bearer } };
}

/**
 * The path before every path, without a slash at its end; "" for none. Errors: `invalid_argument`.
 */
export function basePathOf({ uiBasePath }: PageSettings): string {
  if (uiBasePath === undefined) return "";
  const path = uiBasePath.replace(/\/$/, "");
  if (path === "" || BASE_PATH.test(path)) return path;
  throw new UsageError(
    `Cannot use ${JSON.stringify(uiBasePath)} as --ui-base-path: give a path such as /logs`,
  );
}

/** The path of a request without `basePath`, where it begins with that. */
export function pathBelow(basePath: string, { url }: Pick<Request, "url">): string {
  const path = new URL(url).pathname;
  if (path === basePath) return "/";
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
}
