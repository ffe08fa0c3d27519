/**
 * Hears a channel of PostgreSQL's LISTEN and NOTIFY, over a connection of its own that is made
 * again when it is lost.
 */

import { getLogger } from "@logtape/logtape";
// @ts-types="@types/pg"
import type pg from "pg";
import { SystemClock } from "../os/clock.ts";
import { FailureLog } from "../logging/failure_log.ts";
import { CATALOG_OPTION } from "./postgres_errors.ts";
import { postgresPlace } from "./postgres_pool.ts";

const RETRY_MS_MIN = 500;
/** Who asks for a commit right after an outage is heard soon. */
const RETRY_MS_MAX = 5_000;
const CONNECT_MS_MAX = 5_000;

export interface ListenOptions {
  readonly uri: string;
  /** A lower-case SQL name. */
  readonly channel: string;
  /** For messages: the option that names the database. Default: the catalog's. */
  readonly option?: string;
  /** Called with the text of each notice, and without one when some may have been missed. */
  readonly onNotice: (payload: string | undefined) => void;
}

export interface ChannelListener extends AsyncDisposable {
  /** Whether a notice would be heard now. */
  readonly isListening: boolean;
}

/** Listens on a channel until it is disposed of, and connects again when the connection breaks. */
export function listenToChannel(options: ListenOptions): ChannelListener {
  return new RunningListener(options);
}

class RunningListener implements ChannelListener {
  readonly #options: ListenOptions;
  readonly #failureLog = new FailureLog({
    clock: new SystemClock(),
    log: getLogger(["svc", "catalog"]),
    over: "notices of the database are heard again",
  });
  #client: pg.Client | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #isDisposed = false;
  #connecting: Promise<void>;

  constructor(options: ListenOptions) {
    this.#options = options;
    this.#connecting = this.#connect();
  }

  get isListening(): boolean {
    return this.#client !== undefined;
  }

  /** Never throws. */
  async #connect(): Promise<void> {
    const { uri, channel, onNotice } = this.#options;
    // @ts-types="@types/pg"
    const { default: pg } = await import("pg");
    const client = new pg.Client({
      connectionString: uri,
      connectionTimeoutMillis: CONNECT_MS_MAX,
      query_timeout: CONNECT_MS_MAX,
      keepAlive: true,
      application_name: `svc ${channel}`,
    });
    client.on("notification", ({ payload }) => onNotice(payload));
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client, new Error("the server closed the connection")));
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
    } catch (error) {
      client.removeAllListeners("end");
      await client.end().catch(() => {});
      this.#later(error);
      return;
    }
    this.#failures = 0;
    this.#failureLog.worked(channel);
    this.#client = client;
    onNotice(undefined);
  }

  #lost(client: pg.Client, error: Error): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.end().catch(() => {});
    this.#later(error);
  }

  #later(error: unknown): void {
    if (this.#isDisposed) return;
    const retryMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** this.#failures);
    this.#failures += 1;
    const { uri, channel, option = CATALOG_OPTION } = this.#options;
    this.#failureLog.failed(channel, `listen at ${postgresPlace(uri, option)}`, error);
    this.#retry = setTimeout(() => this.#connecting = this.#connect(), retryMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    clearTimeout(this.#retry);
    await this.#connecting;
    clearTimeout(this.#retry);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {});
  }
}
