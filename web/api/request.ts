/** Requests to the query server that served this page. */

import { pause } from "./pause.ts";
import { noteServerAway, noteServerHere, untilBack, wasAway } from "./server_state.ts";
import { bearerToken, wantToken } from "./session.ts";

/** Why a request has no answer; `message` is for people. */
export class RequestError extends Error {
  override readonly name = "RequestError";

  constructor(message: string, readonly status: number, options: { cause?: unknown } = {}) {
    super(message, options);
  }
}

/** The page lies beside the API, whatever path prefix a proxy puts before both. */
const API = "../api/v1/";

/** `signal` ends the request, and the server stops what it runs for it. */
export type RequestOptions = Omit<RequestInit, "signal" | "headers"> & {
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Asking twice does no harm: it waits while the server is away. Reads do so by themselves. */
  readonly isRepeatable?: boolean;
};

/** After so long without an answer the page looks whether the server is still there. */
const LOOK_MS = 10_000;

/** A server that answers probes and breaks this request each time is not asked for ever. */
const ATTEMPTS_MAX = 4;

/**
 * Asks `path` below `/api/v1/`, whatever the status of the answer. Where the server wants to know
 * who asks, the user is asked, and the request goes on: callers never see 401. While the server is
 * away, what may be repeated waits. Errors: `RequestError` when the server cannot be reached, a
 * proxy answers in its place, or the user does not sign in; the signal's reason.
 */
export async function request(path: string, options: RequestOptions): Promise<Response> {
  for (let attempt = 1;; attempt += 1) {
    const { response, token } = await ask(path, options);
    if (response === undefined || await isAway(response)) {
      await response?.body?.cancel();
      await waitForServer(options, attempt);
      continue;
    }
    noteServerHere();
    if (response.ok && isPage(response)) {
      await response.body?.cancel();
      throw new RequestError(
        "What stands before the server answered with a page of its own, such as its sign-in. " +
          "Reload this page.",
        response.status,
      );
    }
    if (response.status !== 401) return response;
    const { message } = refusal(await response.text(), 401);
    await wantToken({ refused: token, reason: message }, options.signal).catch((cause) => {
      options.signal.throwIfAborted();
      throw new RequestError(cause.message, 401, { cause });
    });
  }
}

/** An answer whose text is whole: one that breaks off is asked for again. Errors: as `request`. */
export async function requestText(
  path: string,
  options: RequestOptions,
): Promise<{ readonly response: Response; readonly text: string }> {
  for (let attempt = 1;; attempt += 1) {
    const response = await request(path, options);
    const text = await response.text().catch(() => undefined);
    if (text !== undefined) return { response, text };
    await waitForServer(options, attempt);
  }
}

/** Asks `path` and reads its JSON. Errors: as `request`; `RequestError` by the server's status. */
export async function requestJson(path: string, options: RequestOptions): Promise<unknown> {
  const { response, text } = await requestText(path, options);
  if (!response.ok) throw refusal(text, response.status);
  return JSON.parse(text);
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

/** The answer; none where the server cannot be reached. Errors: the signal's reason. */
async function ask(
  path: string,
  options: RequestOptions,
): Promise<{ readonly response: Response | undefined; readonly token: string | undefined }> {
  const { signal, isRepeatable: _, ...init } = options;
  const token = await bearerToken();
  signal.throwIfAborted();
  const headers = {
    ...init.headers,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const url = new URL(path, new URL(API, location.href));
  const response = await fetchWatched(url, { ...init, headers }, signal).catch(() => undefined);
  signal.throwIfAborted();
  return { response, token };
}

/**
 * `fetch` that gives up once the server was away: a link that breaks without a word leaves the
 * request behind, for minutes. Errors: those of `fetch`.
 */
async function fetchWatched(url: URL, init: RequestInit, signal: AbortSignal): Promise<Response> {
  const lost = new AbortController();
  const answered = new AbortController();
  untilAwayAndBack(AbortSignal.any([signal, answered.signal])).then(() => lost.abort(), () => {});
  try {
    return await fetch(url, { ...init, signal: AbortSignal.any([signal, lost.signal]) });
  } finally {
    answered.abort();
  }
}

/** Errors: the signal's reason. */
async function untilAwayAndBack(signal: AbortSignal): Promise<void> {
  do await pause(LOOK_MS, signal); while (!await wasAway(signal));
}

/** The API answers with no page. A proxy whose session has ended leads requests to one. */
function isPage(response: Response): boolean {
  return (response.headers.get("content-type") ?? "").startsWith("text/html");
}

/** Whether a server that stops answered, or a proxy that has no server behind it. */
async function isAway(response: Response): Promise<boolean> {
  if (![502, 503, 504].includes(response.status)) return false;
  if (!(response.headers.get("content-type") ?? "").startsWith("application/json")) return true;
  if (response.status !== 503) return false;
  const body = await response.clone().json().catch(() => undefined);
  return body?.reason === "server_stopping";
}

async function waitForServer(
  { signal, method = "GET", isRepeatable = method === "GET" || method === "HEAD" }: RequestOptions,
  attempt: number,
): Promise<void> {
  signal.throwIfAborted();
  if (isRepeatable && attempt < ATTEMPTS_MAX && await untilBack(signal)) return;
  noteServerAway();
  throw new RequestError(
    isRepeatable
      ? "The server cannot be reached. Ask again."
      : "The server cannot be reached. It may have taken the request: look before you send it again.",
    0,
  );
}
