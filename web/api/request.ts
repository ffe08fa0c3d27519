/** Requests to the query server that served this page. */

import { tokenHeader, wantToken } from "./token.ts";

/** Why a request has no answer; `message` is for people. */
export class RequestError extends Error {
  override readonly name = "RequestError";

  constructor(message: string, readonly status: number, options: { cause?: unknown } = {}) {
    super(message, options);
  }
}

/** The page lies beside the API, whatever path prefix a proxy puts before both. */
const API = new URL("../api/v1/", location.href);

/** `signal` ends the request, and the server stops what it runs for it. */
export type RequestOptions = Omit<RequestInit, "signal" | "headers"> & {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * Asks `path` below `/api/v1/`, whatever the status of the answer. Where the server wants a token
 * the user is asked, and the request goes on with it: callers never see 401. Errors: `RequestError`
 * when the server cannot be reached or no token was given; the signal's reason.
 */
export async function request(path: string, options: RequestOptions): Promise<Response> {
  const { signal } = options;
  for (;;) {
    const headers = { ...options.headers, ...tokenHeader() };
    const response = await fetch(new URL(path, API), { ...options, headers }).catch((cause) => {
      if (signal.aborted) throw signal.reason;
      throw new RequestError("The server cannot be reached. Ask again.", 0, { cause });
    });
    if (response.status !== 401) return response;
    await response.body?.cancel();
    await wantToken(signal).catch((cause) => {
      if (signal.aborted) throw signal.reason;
      throw new RequestError(cause.message, 401, { cause });
    });
  }
}

/** What an answer that is no success tells. */
export function refusal(text: string, status: number): RequestError {
  let told: unknown;
  try {
    told = JSON.parse(text).error;
  } catch {
    // A proxy's page: its status says it.
  }
  return new RequestError(typeof told === "string" ? told : `HTTP ${status}`, status);
}

/** Asks `path` and reads its JSON. Errors: as `request`; `RequestError` by the server's status. */
export async function requestJson(path: string, options: RequestOptions): Promise<unknown> {
  const response = await request(path, options);
  const text = await response.text();
  if (!response.ok) throw refusal(text, response.status);
  return JSON.parse(text);
}
