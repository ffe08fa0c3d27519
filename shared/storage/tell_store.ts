/**
 * What a role says of its object store at its start, where it would else find out only when
 * somebody needs it.
 */

import type { Logger } from "@logtape/logtape";
import type { ReadableStore } from "./object_store.ts";

/** Nothing is ever there. */
const NOWHERE = "svc-nothing/";

/** Asks once, and logs what is wrong; never throws. */
export async function tellStore(
  store: Pick<ReadableStore, "list" | "rootUri">,
  log: Logger,
): Promise<void> {
  try {
    await Array.fromAsync(store.list(NOWHERE));
  } catch (error) {
    log.error("the warehouse {warehouse} cannot be used yet: {error}", {
      warehouse: store.rootUri,
      error,
    });
  }
}
