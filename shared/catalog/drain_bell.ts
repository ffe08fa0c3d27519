/**
 * A bell between machines, through PostgreSQL's LISTEN and NOTIFY. Who wants a lane's segments
 * committed rings, and the drains that listen look at once instead of at their next poll. It is a
 * hint only: a ring that is lost costs time, no rows.
 *
 * A reader of the catalog may ring: NOTIFY is no write, and the server takes it in a read-only
 * session (of a primary: a standby refuses it). It needs no grant.
 */

import { isPostgresUri } from "./catalog_uri.ts";
import { type ChannelListener, listenToChannel } from "./postgres_listener.ts";
import { PostgresPool } from "./postgres_pool.ts";

const CHANNEL = "svc_drain";

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

/** Calls `onRing` with the lane of each ring, and without one when rings may have been missed. */
export function listenToDrainBell(
  uri: string,
  onRing: (lane: string | undefined) => void,
): ChannelListener {
  return listenToChannel({ uri, channel: CHANNEL, onNotice: onRing });
}
