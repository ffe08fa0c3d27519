/**
 * Removes converted WAL segments when no statement asks for them any more. The disk may be the
 * WAL's own, and an ingest server that waits for free space must not wait for the next query.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../base/errors.ts";
import type { Clock } from "../../os/clock.ts";
import type { WalDelta } from "./wal_delta.ts";

const INTERVAL_MS = 10_000;

/** Looks for such segments every 10 s, until it is disposed of. */
export class DeltaSweep implements Disposable {
  readonly #stop = new AbortController();

  constructor(delta: Pick<WalDelta, "forgetGone">, clock: Clock) {
    this.#run(delta, clock);
  }

  async #run(delta: Pick<WalDelta, "forgetGone">, clock: Clock): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      await clock.sleep(INTERVAL_MS, { signal }).catch(() => {}); // Stopped while asleep.
      if (signal.aborted) return;
      try {
        await delta.forgetGone();
      } catch (error) {
        getLogger(["svc", "engine"]).warn("cannot look which WAL segments are left: {error}", {
          error: messageOf(error),
        });
      }
    }
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }
}
