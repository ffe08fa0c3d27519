/**
 * A token bucket per key that all replicas share through Redis.
 *
 * One script computes and writes, so that concurrent takers of one bucket never get more than it
 * has; time is Redis's own, so that replicas' clocks do not matter. A key expires when its bucket
 * is full again.
 *
 * When Redis is away, requests pass (the issue demands it: losing logs is worse than taking too
 * many): within `answerMsMax` for the one request that finds out or looks again, at once for the
 * others. Every request that passes unchecked is counted; an outage is logged when it begins and
 * when it ends.
 *
 * The client is `@redis/client`: unlike others it loads without reading the whole environment,
 * which this process may not.
 */

import { getLogger } from "@logtape/logtape";
import { createClient } from "@redis/client";
import type { Rate } from "../shared/auth/rate_limit_memory.ts";
import { messageOf, UsageError } from "../shared/base/errors.ts";
import { withDeadline } from "../shared/http/deadline.ts";
import type { Clock } from "../shared/os/clock.ts";

export interface RedisBucketsOptions {
  /** As `requireRedisUrl` takes it; may hold a password and is never logged. */
  readonly url: string;
  readonly prefix: string;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Called for every request that passed because Redis could not be asked. */
  readonly onUnchecked: () => void;
  /** Connecting included. */
  readonly answerMsMax?: number;
  /** How long Redis is left alone after it failed to answer. */
  readonly retryMs?: number;
}

const ANSWER_MS_MAX = 250;
const RETRY_MS = 1_000;
const CONNECT_MS_MAX = 5_000;

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

export class RedisBuckets implements AsyncDisposable {
  readonly #options: RedisBucketsOptions;
  readonly #arguments: string[];
  readonly #log = getLogger(["svc", "ingest"]);
  #connection: Connection | undefined;
  #retryAtMs = -Infinity;
  #away = false;
  #ended = false;

  /** Connects with the first request. */
  constructor(rate: Rate, options: RedisBucketsOptions) {
    this.#options = options;
    const intervalMs = 1_000 / rate.perSec;
    this.#arguments = [String(intervalMs), String(rate.burst * intervalMs)];
  }

  /** Like `MemoryBuckets.take`; 0 as well when Redis cannot be asked. Never throws. */
  async take(key: string): Promise<number> {
    if (this.#away && this.#options.clock.monotonicMs() < this.#retryAtMs) return this.#unchecked();
    // Whoever looks again does so alone: the others pass meanwhile.
    if (this.#away) this.#retryAtMs = this.#retryTimeMs();
    const connection = this.#connection ??= connect(this.#options.url);
    try {
      const waitMs = await this.#ask(connection, key);
      this.#reached();
      return waitMs;
    } catch (error) {
      this.#lost(connection, error);
      return this.#unchecked();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    this.#connection?.end();
    this.#connection = undefined;
    return Promise.resolve();
  }

  async #ask(connection: Connection, key: string): Promise<number> {
    const msMax = this.#options.answerMsMax ?? ANSWER_MS_MAX;
    const answer = await withDeadline({ msMax, what: "Redis did not answer" }, async () => {
      const client = await connection.client;
      const keys = [`${this.#options.prefix}:${key}`];
      return await client.eval(TAKE, { keys, arguments: this.#arguments });
    });
    const waitMs = Number(answer);
    if (!Number.isFinite(waitMs)) throw new Error("Redis answered something that is no number");
    return waitMs;
  }

  #unchecked(): number {
    this.#options.onUnchecked();
    return 0;
  }

  #reached(): void {
    if (!this.#away) return;
    this.#away = false;
    this.#log.info("Redis at {host} answers again: rates are limited", { host: this.#host });
  }

  /**
   * A connection that failed once is not used again: a peer that vanished without a word never
   * recovers. One that is still being made may take longer than a request waits for it.
   */
  #lost(connection: Connection, error: unknown): void {
    if (!connection.pending) {
      connection.end();
      if (this.#connection === connection) this.#connection = undefined;
    }
    this.#retryAtMs = this.#retryTimeMs();
    if (this.#away || this.#ended) return;
    this.#away = true;
    this.#log.warn("Redis at {host} cannot be asked: requests pass without a rate limit: {why}", {
      host: this.#host,
      why: messageOf(error),
    });
  }

  #retryTimeMs(): number {
    return this.#options.clock.monotonicMs() + (this.#options.retryMs ?? RETRY_MS);
  }

  get #host(): string {
    return new URL(this.#options.url).host;
  }
}

type Client = ReturnType<typeof clientOf>;

interface Connection {
  readonly client: Promise<Client>;
  /** Neither made nor failed so far. */
  pending: boolean;
  end(): void;
}

function connect(url: string): Connection {
  const client = clientOf(url);
  // Every failure also rejects what waits for it.
  client.on("error", () => {});
  // The client bounds reaching Redis, not what it says to it before it is ready.
  const patience = { msMax: CONNECT_MS_MAX, what: "Redis did not take the connection" };
  const connecting = withDeadline(patience, () => client.connect()).then(() => client);
  const connection = { client: connecting, pending: true, end: () => client.destroy() };
  const settled = () => void (connection.pending = false);
  connecting.then(settled, settled);
  return connection;
}

function clientOf(url: string) {
  return createClient({
    url,
    disableOfflineQueue: true,
    commandsQueueMaxLength: 10_000,
    // Asks for a variable outside of our own otherwise.
    maintNotifications: "disabled",
    socket: { connectTimeout: CONNECT_MS_MAX, reconnectStrategy: false },
  });
}

/** Throws `invalid_argument` for a URL that is not Redis's; its text may hold a password and is not repeated. */
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
