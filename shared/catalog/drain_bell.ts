/**
 * A bell between machines, through PostgreSQL's LISTEN and NOTIFY: who wants a lane's segments committed rings, and the
 * drains that listen look at once instead of at their next poll. A hint only: a ring that is lost costs time, no rows.
 *
 * A reader of the catalog may ring: NOTIFY is no write, and the server takes it in a read-only session (of a primary: a
 * standby refuses it). It needs no grant.
 */

import { getLogger } from "@logtape/logtape";
// @ts-types="@types/pg"
import pg from "pg";
import { messageOf } from "../base/errors.ts";
import { isPostgresUri } from "./catalog_uri.ts";
import { postgresPlace, PostgresPool } from "./postgres_pool.ts";

const CHANNEL = "svc_drain";
const RETRY_MS_MIN = 500;
const RETRY_MS_MAX = 30_000;
const CONNECT_MS_MAX = 5_000;

/** Rings for one lane, `tenant/index`. Errors: `unavailable`, `permission_denied`. */
export interface DrainBell extends AsyncDisposable {
  ring(lane: string): Promise<void>;
}

/** The bell of a catalog; undefined for one in a file, whose drains watch the WAL itself. */
export function openDrainBell(place: string): DrainBell | undefined {
  if (!isPostgresUri(place)) return undefined;
  const pool = new PostgresPool({ uri: place, readOnly: true });
  return {
    ring: async (lane) => {
      await pool.query("ring for a drain", "SELECT pg_notify($1, $2)", [CHANNEL, lane]);
    },
    [Symbol.asyncDispose]: () => pool.close(),
  };
}

export interface BellListener extends AsyncDisposable {
  /** Whether a ring would be heard now. */
  readonly isListening: boolean;
}

/** Calls `onRing` with the lane of each ring, and without one when rings may have been missed. */
export function listenToDrainBell(
  uri: string,
  onRing: (lane: string | undefined) => void,
): BellListener {
  return new RunningListener(uri, onRing);
}

class RunningListener implements BellListener {
  readonly #uri: string;
  readonly #onRing: (lane: string | undefined) => void;
  readonly #log = getLogger(["svc", "catalog"]);
  #client: pg.Client | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #isDisposed = false;
  #connecting: Promise<void>;

  constructor(uri: string, onRing: (lane: string | undefined) => void) {
    this.#uri = uri;
    this.#onRing = onRing;
    this.#connecting = this.#connect();
  }

  get isListening(): boolean {
    return this.#client !== undefined;
  }

  /** Never throws. */
  async #connect(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#uri,
      connectionTimeoutMillis: CONNECT_MS_MAX,
      query_timeout: CONNECT_MS_MAX,
      keepAlive: true,
      application_name: "svc drain bell",
    });
    client.on("notification", ({ payload }) => this.#onRing(payload));
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client, new Error("the server closed the connection")));
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
    } catch (error) {
      client.removeAllListeners("end");
      await client.end().catch(() => {});
      this.#later(error);
      return;
    }
    this.#failures = 0;
    this.#client = client;
    this.#onRing(undefined);
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
    this.#log.warning("cannot listen at {place}, next try in {retryMs} ms: {error}", {
      place: postgresPlace(this.#uri),
      retryMs,
      error: messageOf(error),
    });
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
