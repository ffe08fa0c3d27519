/**
 * What a drain reports, as log lines. Failures are logged by the loop, which knows when it tries
 * again.
 */

import { getLogger } from "@logtape/logtape";
import { laneName } from "../shared/tenant/tenant.ts";
import type { DrainObserver } from "../shared/drain/drain_observer.ts";

/** An observer that logs what a drain does. */
export function logDrain(): DrainObserver {
  const log = getLogger(["svc", "drain"]);
  return {
    committed: (lane, { rows, files, segments, secs, retries }) =>
      log.debug("committed {rows} rows of lane {lane}", {
        lane: laneName(lane),
        rows,
        files,
        segments,
        secs: secs.toFixed(3),
        retries,
      }),
    overtaken: (lane) =>
      log.info("another drain committed the same segments of lane {lane} first", {
        lane: laneName(lane),
      }),
    poisoned: (lane, segment, error) =>
      log.error("set WAL segment {segment} of lane {lane} aside in poison/: {error}", {
        segment,
        lane: laneName(lane),
        error,
      }),
    quarantined: (lane, segment) =>
      log.error(
        "quarantined WAL segment {segment} of lane {lane} in the catalog: every claim of it failed",
        { segment, lane: laneName(lane) },
      ),
    claimLost: (lane) =>
      log.warning("lost the claim on segments of lane {lane}: stopped for longer than the lease", {
        lane: laneName(lane),
      }),
    discarded: (lane, segments) =>
      log.info("left {segments} WAL segments of lane {lane} out: their index was dropped", {
        segments,
        lane: laneName(lane),
      }),
    columnsAdded: (lane, columns) =>
      log.info("the table of lane {lane} has columns {columns} from now on", {
        lane: laneName(lane),
        columns,
      }),
    reclaimed: (objects) =>
      log.info(
        "removed {objects} objects of the mirror whose rows are committed and whose machine is gone",
        {
          objects,
        },
      ),
    swept: (lane, segments) =>
      log.debug("removed {segments} committed segments of lane {lane}", {
        segments,
        lane: laneName(lane),
      }),
  };
}
