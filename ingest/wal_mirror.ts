/**
 * The mirror of this server's WAL in the warehouse:
 * docs/api/command_line.md#options-of-the-servers.
 */

import { getLogger } from "@logtape/logtape";
import { UsageError } from "../shared/base/errors.ts";
import type { Clock } from "../shared/os/clock.ts";
import { environment } from "../shared/os/environment.ts";
import type { FileSystem } from "../shared/os/file_system.ts";
import type { Random } from "../shared/os/random.ts";
import { openStore } from "../shared/storage/open_store.ts";
import { isS3Url } from "../shared/storage/s3_settings.ts";
import { tellStore } from "../shared/storage/tell_store.ts";
import { MirrorUploader } from "../shared/wal/mirror/mirror_uploader.ts";
import { openSegmentPacker } from "../shared/wal/mirror/segment_packer.ts";
import type { IngestSettings } from "./flags.ts";
import type { IngestMetrics } from "./metrics.ts";
import { mirrorPrefixOf } from "./mirror_prefix.ts";

/** Segments uploaded at a time, which are also those in memory. */
const PARALLEL = 2;
/**
 * Requests go first until a segment is so old; one is 5 s old by `--wal-max-age-secs` when it is
 * sealed.
 */
const PATIENCE_MS = 10_000;

/**
 * Undefined when there is none. Errors: `invalid_argument` for a prefix or a store that cannot be,
 * or must be.
 */
export function openMirror(
  settings: Pick<
    IngestSettings,
    "walMirrorPrefix" | "walActiveMirrorIntervalSecs" | "warehouseUrl" | "remoteDrain"
  >,
  deps: {
    /** The root of the WAL, which this process has open. */
    readonly root: string;
    /** Where the warehouse is, in the form that `openStore` takes. */
    readonly warehouse: string;
    readonly fs: FileSystem;
    readonly clock: Clock;
    readonly random: Random;
    readonly metrics: IngestMetrics;
  },
): MirrorUploader | undefined {
  const { root, warehouse, fs, clock, random, metrics } = deps;
  const prefix = mirrorPrefixOf(settings);
  if (prefix === "" && settings.remoteDrain) {
    throw new UsageError(
      "Cannot leave the drain to compactors elsewhere (--remote-drain) without a mirror, which is all they see: give " +
        "--warehouse-url, and no empty --wal-mirror-prefix",
    );
  }
  if (prefix === "") return undefined;
  const remote = { files: fs, clock, random, env: environment };
  const { store, sender } = openStore(warehouse, remote, {
    unfinishedBelow: prefix,
    sendsBeside: true,
  });
  if (isS3Url(warehouse)) void tellStore(store, getLogger(["svc", "wal", "mirror"]));
  const packer = openSegmentPacker();
  const mirror = new MirrorUploader({
    ...{ fs, root, store, prefix, clock, random },
    parallel: PARALLEL,
    packer,
    threads: sender === undefined ? [packer] : [packer, sender],
    activeIntervalMs: settings.walActiveMirrorIntervalSecs * 1_000,
    // Rows that a drain elsewhere has not seen are in no answer of the query servers there.
    patienceMs: settings.remoteDrain ? 0 : PATIENCE_MS,
    onEvent: (event) => {
      metrics.mirrorSegments.add(1, { outcome: event.kind });
      if (event.kind !== "skipped") metrics.mirrorBytes.add(event.bytes, {});
    },
    onFailure: () => metrics.mirrorFailures.add(1, {}),
  });
  metrics.mirrorPendingSegments.readAtScrape(async () => (await mirror.backlog()).segments, {});
  metrics.mirrorPendingBytes.readAtScrape(async () => (await mirror.backlog()).bytes, {});
  metrics.mirrorLagSecs.readAtScrape(async () => {
    const { oldestMs } = await mirror.backlog();
    return oldestMs === undefined ? 0 : Math.max(0, clock.nowMs() - oldestMs) / 1_000;
  }, {});
  return mirror;
}
