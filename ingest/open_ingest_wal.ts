/** Opens the WAL that the ingest server writes, with its metrics and its mirror. */

import type { Clock } from "../shared/os/clock.ts";
import type { FileSystem } from "../shared/os/file_system.ts";
import { SystemRandom } from "../shared/os/random.ts";
import type { ThreadMemory } from "../shared/os/task_thread.ts";
import { openFrameThread } from "../shared/wal/frame_encoder.ts";
import type { MirrorUploader } from "../shared/wal/mirror/mirror_uploader.ts";
import { openWalReader } from "../shared/wal/reader.ts";
import type { Wal } from "../shared/wal/types.ts";
import { openWal } from "../shared/wal/wal.ts";
import type { WalEventListener } from "../shared/wal/wal_event.ts";
import { type IngestSettings, LIMITS } from "./flags.ts";
import type { IngestMetrics } from "./metrics.ts";
import { countWalEvents, gaugeWalSegments } from "./wal_metrics.ts";
import { openMirror } from "./wal_mirror.ts";

export interface IngestWalParts {
  readonly threads: ThreadMemory;
  /** Closes the WAL, which seals what is open, and then stops the mirror. */
  readonly starting: AsyncDisposableStack;
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly metrics: IngestMetrics;
  /** Absolute root of the WAL, and the warehouse as `openStore` takes it. */
  readonly paths: { readonly wal: string; readonly warehouse: string };
  /** Is told of events besides metrics and mirror. */
  readonly listen: WalEventListener;
}

/** Errors: those of `openWal` and `openMirror`. */
export async function openIngestWal(
  settings: IngestSettings,
  { starting, fs, clock, metrics, paths, listen, threads }: IngestWalParts,
): Promise<Wal> {
  const count = countWalEvents(metrics);
  let mirror: MirrorUploader | undefined = undefined;
  starting.defer(() => mirror?.stop());
  const random = new SystemRandom();
  const frameThread = starting.use(openFrameThread(threads));
  const wal = starting.use(
    await openWal({
      root: paths.wal,
      fs,
      clock,
      random,
      eventsMax: settings.walMaxEvents,
      ageSecsMax: settings.walMaxAgeSecs,
      ageMsMin: LIMITS.segmentAgeMsMin,
      freeBytesMin: settings.ingestFreeSpaceFloorMib * 1024 * 1024,
      groupWaitMs: settings.ingestGroupCommitMs,
      keyAgeMsMax: settings.ingestIdempotencySecs * 1_000,
      keysMax: settings.ingestIdempotencyKeys,
      frameThread,
      onEvent: (event) => {
        count(event);
        listen(event);
        if (event.kind === "sealed") mirror?.wake(event.lane);
      },
    }),
  );
  mirror = openMirror(settings, {
    ...{ fs, clock, random, metrics },
    root: paths.wal,
    warehouse: paths.warehouse,
  });
  gaugeWalSegments(metrics, openWalReader(fs, paths.wal));
  return wal;
}
