/**
 * What a drain reports, as log lines. Failures are logged by the loop, which knows when it tries
 * again.
 */

import { getLogger, type Logger } from "@logtape/logtape";
import { counted } from "../shared/base/counted.ts";
import { laneName } from "../shared/tenant/tenant.ts";
import { rowsLostIn } from "../shared/wal/damaged_bytes.ts";
import type { FrameDamage, MissingSegment } from "../shared/wal/types.ts";
import type { DrainObserver } from "../shared/drain/drain_observer.ts";

/** An observer that logs what a drain does. */
export function logDrain(): DrainObserver {
  const log = getLogger(["svc", "drain"]);
  const tellMissing = missingTeller(log);
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
    forgotten: (lane, segments) =>
      log.error(
        "the catalog had forgotten that WAL segments {segments} of lane {lane} are in their table, " +
          "and was told again: look at its disk, it may be damaged",
        { segments, lane: laneName(lane) },
      ),
    poisoned: (lane, segment, error) =>
      log.error("set WAL segment {segment} of lane {lane} aside in poison/: {error}", {
        segment,
        lane: laneName(lane),
        error,
      }),
    damaged: (lane, segment, damage) => tellDamaged(log, { lane: laneName(lane), segment, damage }),
    mended: (lane, segment, frames) =>
      log.warning(
        "read {frames} damaged frames of WAL segment {segment} of lane {lane} from the mirror",
        { segment, lane: laneName(lane), frames },
      ),
    missing: (lane, segments) => tellMissing(laneName(lane), segments),
    restored: (lane, segment) =>
      log.warning("WAL segment {segment} of lane {lane} was gone, and is back from the mirror", {
        segment,
        lane: laneName(lane),
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
      log.info("left {segments} of lane {lane} out: their index was dropped", {
        segments: counted(segments, "WAL segment"),
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

/** Tells of each missing segment once, as long as it is missing. */
function missingTeller(log: Logger): (lane: string, segments: readonly MissingSegment[]) => void {
  const told = new Map<string, ReadonlySet<string>>();
  return (lane, segments) => {
    const before = told.get(lane);
    for (const { name, rows } of segments) {
      if (before?.has(name) === true) continue;
      log.error(
        "WAL segment {segment} of lane {lane} with {rows} is gone, and no table has them: " +
          "bring it back to sealed/ from a backup, or remove expected/{segment} to give it up",
        { segment: name, lane, rows: rowsText(rows) },
      );
    }
    if (segments.length > 0) told.set(lane, new Set(segments.map(({ name }) => name)));
    else told.delete(lane);
  };
}

function tellDamaged(
  log: Logger,
  { lane, segment, damage }: {
    readonly lane: string;
    readonly segment: string;
    readonly damage: readonly FrameDamage[];
  },
): void {
  log.error(
    "committed WAL segment {segment} of lane {lane} without {bytes} damaged bytes of it " +
      "({rows}), which are in poison/: {where}",
    {
      segment,
      lane,
      bytes: damage.reduce((sum, { offset, endOffset }) => sum + endOffset - offset, 0),
      rows: rowsText(rowsLostIn(damage)),
      where: damage.map(({ offset, endOffset }) => `${offset} to ${endOffset}`).join(", "),
    },
  );
}

function rowsText(rows: number | undefined): string {
  return rows === undefined ? "an unknown number of rows" : counted(rows, "row");
}
