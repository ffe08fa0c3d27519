/**
 * Reads of the summary in a data file's sidecar. A sidecar is made anew under its name, as after an
 * upgrade. What is known of the one before then points at other bytes, which fail a check. So a
 * summary is read once more, with its footer.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../../base/errors.ts";
import type { SidecarSource, SidecarSubject } from "../../derived/sidecar.ts";
import { FileSummary } from "../../derived/summary/file_summary.ts";
import type { ReadableStore } from "../../storage/object_store.ts";

export interface SummaryDeps {
  readonly store: ReadableStore;
  readonly sidecars: SidecarSource;
}

/**
 * What `read` makes of a file's summary. Undefined where the file has none, or one that cannot be
 * used.
 */
export async function readSummary<T>(
  { store, sidecars }: SummaryDeps,
  { key, rows }: SidecarSubject,
  read: (summary: FileSummary) => T | Promise<T>,
): Promise<T | undefined> {
  for (let isAgain = false;; isAgain = true) {
    try {
      const sidecar = await sidecars.read(store, { key, rows });
      const summary = sidecar === undefined ? undefined : FileSummary.of(store, sidecar, rows);
      return summary === undefined ? undefined : await read(summary);
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      sidecars.distrust({ key, rows });
      if (!isAgain && error.code === "corrupt") continue;
      getLogger(["svc", "engine"]).warn("the summary of {key} cannot be used: {error}", {
        key,
        error: messageOf(error),
      });
      return undefined;
    }
  }
}
