/** The compactor: the only entry point for `main.ts`, `cli/` and tests. */

export {
  type CompactorSettings,
  embeddedSettings,
  type HostSettings,
  idleWork,
  OPTIONS,
  WORK_OPTIONS,
  type WorkSettings,
} from "./flags.ts";
export {
  type DeleteOptions,
  deleteOptionsOf,
  deleteSweepPaths,
  openDeleteSweep,
} from "./delete_tasks.ts";
export { type CompactorPaths, compactorPaths } from "./open_drain.ts";
export { runOnce, summaryLine } from "./run_once.ts";
export {
  compactOnce,
  type Compactor,
  type OnceTotals,
  type RunningDrain,
  startCompactor,
  startDrain,
} from "./start_compactor.ts";
