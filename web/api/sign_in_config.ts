/** How this server lets people in: `/ui/config.json`, as query/ui/page_config.ts has it. */

export interface OidcConfig {
  readonly issuer: string;
  readonly client_id: string;
  readonly scope: string;
  readonly bearer: "access_token" | "id_token";
}

export interface SignInConfig {
  readonly auth: "open" | "tokens" | "oidc";
  readonly oidc?: OidcConfig;
}

const ANSWER_MS_MAX = 15_000;

let known: Promise<SignInConfig> | undefined;

/** Errors: those of `fetch`; then the next call asks again. */
export function signInConfig(): Promise<SignInConfig> {
  return known ??= read().catch((error) => {
    known = undefined;
    throw error;
  });
}

async function read(): Promise<SignInConfig> {
  const response = await fetch(new URL("./config.json", location.href), {
    cache: "no-store",
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  if (!response.ok) throw new Error(`Cannot read config.json: HTTP ${response.status}`);
  return await response.json();
}
