/**
 * A token bucket per key that all replicas share through Redis.
 *
 * One script computes and writes, so that concurrent takers of one bucket never get more than it
 * has; time is Redis's own, so that replicas' clocks do not matter. A key expires when its bucket
 * is full again.
 *
 * It connects at once, and requests wait for that (`started`), so that the first ones are limited
 * as well. When Redis is away, however long, each process limits by buckets of its own. They begin
 * full and see a part of the requests only, so nothing is refused that Redis would let pass: losing
 * logs is worse than taking too many. With n replicas a sender gets n times its rate at most. Every
 * request that is judged so is counted; an outage is logged when it begins and when it ends.
 * Requests that wait for an answer when Redis goes away wait `answerMsMax` at most, the others not
 * at all: connecting again runs beside them.
 *
 * The client is `@redis/client`: unlike others it loads without reading the whole environment,
 * which this process may not. It is loaded with the first buckets: it takes a third of what all the
 * rest of the ingest server takes to load, and most servers have no Redis.
 */

import { getLogger } from "@logtape/logtape";
import { MemoryBuckets, type Rate } from "../../shared/auth/rate_limit_memory.ts";
import { messageOf, UsageError } from "../../shared/base/errors.ts";
import { withDeadline } from "../../shared/base/with_deadline.ts";
import type { Clock } from "../../shared/os/clock.ts";

export interface RedisBucketsOptions {
  /**
   * The URL in the form that `requireRedisUrl` takes. It may hold a password and is never logged.
   */
  readonly url: string;
  readonly prefix: string;
  readonly clock: Pick<Clock, "monotonicMs" | "sleep">;
  /** Called for every request that this process judged alone because Redis could not be asked. */
  readonly onUnchecked: () => void;
  /** How long a request waits for Redis. */
  readonly answerMsMax?: number;
  /** Pause between two attempts to reach Redis. */
  readonly retryMs?: number;
}

const ANSWER_MS_MAX = 250;
const RETRY_MS = 1_000;
const CONNECT_MS_MAX = 5_000;
/** How long a server puts off its start for Redis. */
const START_MS_MAX = 5_000;

/**
 * KEYS[1]: the bucket; ARGV: interval and burst, both in milliseconds. 0, or the milliseconds to
 * wait as a text. Times are microseconds inside, which doubles hold exactly.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval = tonumber(ARGV[1]) * 1000
local ahead = tonumber(ARGV[2]) * 1000
local next = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now) + interval
local wait = next - now - ahead
if wait > 1 then return string.format('%.3f', wait / 1000) end
redis.call('SET', KEYS[1], string.format('%.0f', next), 'PX', math.ceil((next - now) / 1000))
return '0'
`;

/**
 * Does what `TAKE` does to a key of its own: whether Redis may be asked, and takes what is written.
 */
const PROBE = `
redis.call('TIME')
redis.call('GET', KEYS[1])
redis.call('SET', KEYS[1], '0', 'PX', 1000)
return '0'
`;

type Client = Awaited<ReturnType<typeof clientOf>>;

export class RedisBuckets implements AsyncDisposable {
  readonly #options: RedisBucketsOptions;
  readonly #arguments: string[];
  /** For as long as Redis is away. */
  #own: MemoryBuckets;
  readonly #rate: Rate;
  readonly #log = getLogger(["svc", "ingest"]);
  /** Undefined while Redis is away. */
  #client: Client | undefined;
  #awaySinceMs: number;
  /** Whether the outage was logged: then its end is, too. */
  #isTold = false;
  readonly #ended = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  #connecting: Promise<void>;

  constructor(rate: Rate, options: RedisBucketsOptions) {
    this.#options = options;
    this.#rate = rate;
    const intervalMs = 1_000 / rate.perSec;
    this.#arguments = [String(intervalMs), String(rate.burst * intervalMs)];
    this.#own = new MemoryBuckets(rate, options);
    this.#awaySinceMs = options.clock.monotonicMs();
    this.#connecting = this.#connect();
  }

  /** Resolves when Redis was reached, or after `msMax`, whatever became of it. */
  async started(msMax = START_MS_MAX): Promise<void> {
    // The bound is Redis's: a busy machine takes seconds to load the client.
    await loadClient().catch(() => {});
    const over = new AbortController();
    const { signal } = over;
    const late = this.#options.clock.sleep(msMax, { signal }).catch(() => {});
    await Promise.race([this.#first.promise, late]);
    over.abort();
  }

  /** Seconds for which Redis has been away; 0 while it answers. */
  get awaySecs(): number {
    if (this.#client !== undefined) return 0;
    return (this.#options.clock.monotonicMs() - this.#awaySinceMs) / 1_000;
  }

  /**
   * Like `MemoryBuckets.take`, of all replicas or, when Redis cannot be asked, of this process.
   * Never throws.
   */
  async take(key: string): Promise<number> {
    const client = this.#client;
    if (client === undefined) return this.#takeOwn(key);
    try {
      return await this.#ask(client, key);
    } catch (error) {
      // What says something of this key says nothing of Redis.
      if (!isOfKey(error)) this.#lost(client, error);
      return this.#takeOwn(key);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    this.#first.resolve();
    if (this.#client !== undefined) this.#client.destroy();
    this.#client = undefined;
    await this.#connecting;
  }

  #takeOwn(key: string): number {
    this.#options.onUnchecked();
    return this.#own.take(key);
  }

  async #ask(client: Client, key: string): Promise<number> {
    const msMax = this.#options.answerMsMax ?? ANSWER_MS_MAX;
    const answer = await withDeadline({ msMax, what: "Redis did not answer" }, () => {
      const keys = [`${this.#options.prefix}:${key}`];
      return client.eval(TAKE, { keys, arguments: this.#arguments });
    });
    const waitMs = Number(answer);
    if (!Number.isFinite(waitMs)) throw new Error("Redis answered something that is no number");
    return waitMs;
  }

  /** Until it is reached. Never rejects. */
  async #connect(): Promise<void> {
    const { signal } = this.#ended;
    const { url, prefix, clock, retryMs = RETRY_MS } = this.#options;
    while (!signal.aborted) {
      let client: Client | undefined;
      try {
        client = await clientOf(url);
        signal.throwIfAborted();
        // Told to whoever waits for an answer; of one that nobody waits for, its end below.
        client.on("error", () => {});
        await reach(client, { probe: `${prefix}:probe`, signal });
        if (!signal.aborted) return this.#reached(client);
      } catch (error) {
        if (!signal.aborted) this.#tellAway(error);
      }
      if (client !== undefined) destroyQuietly(client);
      await clock.sleep(retryMs, { signal }).catch(() => {});
    }
  }

  #reached(client: Client): void {
    this.#client = client;
    this.#own = new MemoryBuckets(this.#rate, this.#options);
    this.#first.resolve();
    // A connection that ends while nobody asks is made again before somebody does.
    client.on("error", (error) => this.#lost(client, error));
    if (!client.isOpen) return this.#lost(client, new Error("the connection ended"));
    if (!this.#isTold) return;
    this.#isTold = false;
    this.#log.info("Redis at {host} answers again: replicas share their budgets", {
      host: this.#host,
    });
  }

  /**
   * A connection that failed once is not used again: a peer that vanished without a word never
   * recovers.
   */
  #lost(client: Client, error: unknown): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#awaySinceMs = this.#options.clock.monotonicMs();
    destroyQuietly(client);
    this.#tellAway(error);
    this.#connecting = this.#connect();
  }

  #tellAway(error: unknown): void {
    if (this.#isTold) return;
    this.#isTold = true;
    this.#log.warn("Redis at {host} cannot be asked: this process limits rates on its own: {why}", {
      host: this.#host,
      why: messageOf(error),
    });
  }

  get #host(): string {
    return new URL(this.#options.url).host;
  }
}

/** Connects, and asks once. Errors: of Redis; `deadline_exceeded`; the signal's reason. */
async function reach(
  client: Client,
  { probe, signal }: { readonly probe: string; readonly signal: AbortSignal },
): Promise<void> {
  const onAbort = () => destroyQuietly(client);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    // The client bounds reaching Redis, not what it says to it before it is ready.
    const patience = { msMax: CONNECT_MS_MAX, what: "Redis did not take the connection" };
    await withDeadline(patience, async () => {
      await client.connect();
      await client.eval(PROBE, { keys: [probe] });
    });
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function destroyQuietly(client: Client): void {
  try {
    client.destroy();
  } catch { /* It was closed already. */ }
}

/** A key that somebody else made, of another kind. Redis 6 names the script before that. */
function isOfKey(error: unknown): boolean {
  return error instanceof Error && error.message.includes("WRONGTYPE");
}

function loadClient() {
  return import("@redis/client");
}

async function clientOf(url: string) {
  const { createClient } = await loadClient();
  return createClient({
    url,
    disableOfflineQueue: true,
    commandsQueueMaxLength: 10_000,
    // Asks for a variable outside of our own otherwise.
    maintNotifications: "disabled",
    socket: { connectTimeout: CONNECT_MS_MAX, reconnectStrategy: false },
  });
}

/**
 * Throws `invalid_argument` for a URL that is not Redis's; its text may hold a password and is not
 * repeated.
 */
export function requireRedisUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && isRedisUrl(url)) return;
  throw new UsageError(
    "cannot use --ingest-rate-redis-url: give redis://[user:password@]host[:port][/database], " +
      "or rediss:// for TLS; the database is a number, and % in a password is written %25",
  );
}

/** What the client reads of it; it reads it with each connection. */
function isRedisUrl({ protocol, hostname, pathname, username, password }: URL): boolean {
  if (!/^rediss?:$/.test(protocol) || hostname === "" || !/^\/?[0-9]*$/.test(pathname)) {
    return false;
  }
  try {
    for (const part of [username, password]) decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}
