/**
 * What tells a drain that someone waits for a commit, so that it need not look for requests all the
 * time.
 */

import { isPostgresUri } from "../shared/catalog/catalog_uri.ts";
import { listenToDrainBell } from "../shared/catalog/drain_bell.ts";
import { watchFile } from "../shared/os/file_watch.ts";
import { drainBellPath } from "../shared/wal/layout.ts";
import type { MirrorConsumerAdmin } from "../shared/wal/mirror/mirror_wal_reader.ts";
import type { CompactorPaths } from "./open_drain.ts";

export interface DrainBells extends AsyncDisposable {
  /** How often requests must be looked for now. */
  pollMs(): number;
}

/** Where events come; without them every 100 ms. */
const WATCHED_POLL_MS = 1_000;
const UNWATCHED_POLL_MS = 100;

/** The bell file of a local WAL: the system's events; where there are none, looking. */
export function watchWal(paths: CompactorPaths, wake: () => void): DrainBells {
  const watch = watchFile(drainBellPath(paths.wal), wake);
  return {
    pollMs: () => watch.isWatching ? WATCHED_POLL_MS : UNWATCHED_POLL_MS,
    [Symbol.asyncDispose]: () => Promise.resolve(watch[Symbol.dispose]()),
  };
}

/**
 * The bell of a mirror: notifications through the catalog. A catalog in a file has none, and the
 * interval is all there is.
 */
export function listenToCatalog(
  paths: CompactorPaths,
  options: { readonly admin: MirrorConsumerAdmin; readonly intervalMs: number; wake(): void },
): DrainBells {
  const { admin, intervalMs, wake } = options;
  const listener = !isPostgresUri(paths.catalog)
    ? undefined
    : listenToDrainBell(paths.catalog, (lane) => {
      if (lane !== undefined) admin.request(lane);
      wake();
    });
  return {
    pollMs: () => intervalMs,
    [Symbol.asyncDispose]: async () => await listener?.[Symbol.asyncDispose](),
  };
}
