/**
 * The signing keys of one OpenID Connect issuer, fetched over its discovery document and kept
 * fresh.
 *
 * Invariants:
 * - One fetch runs at a time, however many requests wait for it, and each has a deadline.
 * - Keys are replaced only by a document that is whole and names the configured issuer.
 * - Keys older than `keysAgeMsMax` are not used. So a key that the issuer withdrew ends being
 *   accepted even while the issuer cannot be reached.
 *
 * Life: fetched at start, every `refreshMs` after that, at once for a key that is not among them
 * (at most every `unknownKeyMs`, since anybody can name one). While the issuer is away, known keys
 * go on to be used.
 */

import { getLogger } from "@logtape/logtape";
import { createLocalJWKSet, type JSONWebKeySet } from "jose";
import { messageOf, OperatingError, rootCauseOf } from "../base/errors.ts";
import { readResponseText } from "../http/response_text.ts";
import { withDeadline } from "../base/with_deadline.ts";
import type { Clock } from "../os/clock.ts";

/** One fetched set; its identity changes with every fetch. */
export interface KeySet {
  readonly find: ReturnType<typeof createLocalJWKSet>;
  readonly fetchedAtMs: number;
  /** When its fetch began, in Unix time. */
  readonly fetchedAtUnixMs: number;
}

export interface IssuerKeyLimits {
  /** Discovery document and key set together. */
  readonly fetchMsMax: number;
  readonly documentBytesMax: number;
  readonly refreshMs: number;
  /** Pause after a failed fetch; requests that need keys meanwhile are refused at once. */
  readonly retryMs: number;
  /** Least time between two fetches for keys that are not in the set. */
  readonly unknownKeyMs: number;
  readonly keysAgeMsMax: number;
}

const ISSUER_KEY_LIMITS: IssuerKeyLimits = {
  fetchMsMax: 5_000,
  documentBytesMax: 1024 * 1024,
  refreshMs: 5 * 60_000,
  retryMs: 2_000,
  unknownKeyMs: 5_000,
  keysAgeMsMax: 24 * 3_600_000,
};

export interface IssuerKeysOptions {
  readonly clock: Clock;
  readonly limits?: Partial<IssuerKeyLimits>;
}

/**
 * A token of a key that the issuer may have published since its keys were fetched, which was just
 * now.
 */
export function notYetKnown(): OperatingError {
  return new OperatingError(
    "unavailable",
    "cannot check the token: its key is not among the issuer's, which were fetched shortly before the token was issued; " +
      "send the request again",
    { reason: "issuer_unavailable", retryAfterSecs: ISSUER_KEY_LIMITS.unknownKeyMs / 1_000 },
  );
}

/** `Retry-After` of requests that could not be judged. */
const RETRY_AFTER_SECS = 2;

export class IssuerKeys implements AsyncDisposable {
  readonly #issuer: string;
  readonly #clock: Clock;
  readonly #limits: IssuerKeyLimits;
  readonly #end = new AbortController();
  readonly #log = getLogger(["svc", "auth"]);
  #known: KeySet | undefined;
  #fetching: Promise<KeySet> | undefined;
  #attemptAtMs = -Infinity;
  #failure: OperatingError | undefined;
  #refreshing: Promise<void> = Promise.resolve();

  /** `issuer` is the exact text of its documents' `issuer`. */
  constructor(issuer: string, options: IssuerKeysOptions) {
    this.#issuer = issuer;
    this.#clock = options.clock;
    this.#limits = { ...ISSUER_KEY_LIMITS, ...options.limits };
  }

  /** Begins to fetch, in the background and until disposed. */
  start(): void {
    this.#refreshing = this.#refreshForever();
  }

  /**
   * The keys to judge a token by. Errors: `unavailable` while there are none, within the deadline
   * of a fetch.
   */
  async current(): Promise<KeySet> {
    const known = this.#known;
    const oldestMs = this.#clock.monotonicMs() - this.#limits.keysAgeMsMax;
    if (known !== undefined && known.fetchedAtMs >= oldestMs) return known;
    return await this.#renew(this.#limits.retryMs);
  }

  /**
   * Keys fetched after `old`, or `old` itself when it was fetched just now. Errors: `unavailable`
   * when the issuer cannot be asked: nobody knows then whether the key that was looked for is good.
   */
  async newerThan(old: KeySet): Promise<KeySet> {
    if (this.#known !== undefined && this.#known !== old) return this.#known;
    return await this.#renew(this.#limits.unknownKeyMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new OperatingError("cancelled", "the server stops"));
    await this.#refreshing;
    await this.#fetching?.catch(() => {});
  }

  async #refreshForever(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      const fetched = await this.#fetchOnce().then(() => true, () => false);
      const pauseMs = fetched ? this.#limits.refreshMs : this.#limits.retryMs;
      await this.#clock.sleep(pauseMs, { signal }).catch(() => {});
    }
  }

  /**
   * Fetches unless the last attempt is younger than `pauseMs`; its outcome stands for this one
   * then.
   */
  async #renew(pauseMs: number): Promise<KeySet> {
    const early = this.#clock.monotonicMs() < this.#attemptAtMs + pauseMs;
    if (this.#fetching === undefined && early) {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#known !== undefined) return this.#known;
    }
    return await this.#fetchOnce();
  }

  #fetchOnce(): Promise<KeySet> {
    return this.#fetching ??= this.#fetch().finally(() => this.#fetching = undefined);
  }

  async #fetch(): Promise<KeySet> {
    this.#attemptAtMs = this.#clock.monotonicMs();
    const begunUnixMs = this.#clock.nowMs();
    try {
      const { fetchMsMax: msMax } = this.#limits;
      const what = "the issuer did not answer";
      const keys = await withDeadline({ msMax, what }, (late) => {
        const signal = AbortSignal.any([late.signal, this.#end.signal]);
        return fetchKeySet(this.#issuer, { signal, bytesMax: this.#limits.documentBytesMax });
      });
      this.#known = {
        find: createLocalJWKSet(keys),
        fetchedAtMs: this.#clock.monotonicMs(),
        fetchedAtUnixMs: begunUnixMs,
      };
    } catch (error) {
      throw this.#failed(error);
    }
    if (this.#failure !== undefined) {
      this.#failure = undefined;
      this.#log.info("keys of issuer {issuer} can be fetched again", { issuer: this.#issuer });
    }
    return this.#known;
  }

  /** Logs the first failure of a row of them. */
  #failed(error: unknown): OperatingError {
    const first = this.#failure === undefined && !this.#end.signal.aborted;
    this.#failure = new OperatingError(
      "unavailable",
      "cannot check the token: the issuer's keys cannot be fetched now; send the request again",
      { reason: "issuer_unavailable", retryAfterSecs: RETRY_AFTER_SECS },
    );
    if (first) {
      const meanwhile = this.#known === undefined
        ? "until it works, requests are answered 503"
        : "known ones stay in use";
      this.#log.warn("cannot fetch keys of issuer {issuer}: {why}; {meanwhile}", {
        issuer: this.#issuer,
        why: messageOf(rootCauseOf(error)),
        meanwhile,
      });
    }
    return this.#failure;
  }
}

interface FetchOptions {
  readonly signal: AbortSignal;
  readonly bytesMax: number;
}

async function fetchKeySet(issuer: string, options: FetchOptions): Promise<JSONWebKeySet> {
  const url = `${issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`;
  const discovery = await fetchObject(url, options);
  if (discovery.issuer !== issuer) {
    throw new Error(
      `${url} names issuer ${JSON.stringify(discovery.issuer)}: give exactly that as the issuer`,
    );
  }
  const set = await fetchObject(keysUrlOf(discovery, issuer), options);
  const { keys } = set;
  if (!Array.isArray(keys) || keys.length === 0) throw new Error("its key set has no keys");
  return set as unknown as JSONWebKeySet;
}

/** `jwks_uri`, over TLS unless the issuer itself goes without. */
function keysUrlOf(discovery: Readonly<Record<string, unknown>>, issuer: string): string {
  const uri = discovery.jwks_uri;
  const url = typeof uri === "string" && URL.canParse(uri) ? new URL(uri) : undefined;
  const secure = url?.protocol === "https:" ||
    (url?.protocol === "http:" && issuer.startsWith("http:"));
  if (url === undefined || !secure) {
    throw new Error(`its jwks_uri ${JSON.stringify(uri)} is no https URL`);
  }
  return url.href;
}

async function fetchObject(
  url: string,
  { signal, bytesMax }: FetchOptions,
): Promise<Record<string, unknown>> {
  const headers = { accept: "application/json" };
  const response = await fetch(url, { signal, headers, redirect: "error" });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  }
  const parsed = readJson(await readResponseText(response, { url, bytesMax }), url);
  if (typeof parsed !== "object" || parsed === null) throw new Error(`${url} is no JSON object`);
  return parsed as Record<string, unknown>;
}

function readJson(text: string, url: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${url} is not JSON`);
  }
}
