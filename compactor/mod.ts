/** The compactor: the only door for `main.ts`, `cli/` and tests. */

export { type CompactorSettings, OPTIONS } from "./flags.ts";
export {
  type DeleteOptions,
  deleteOptionsOf,
  deleteSweepPaths,
  openDeleteSweep,
} from "./delete_tasks.ts";
export { type CompactorObservers, type CompactorPaths, compactorPaths } from "./open_drain.ts";
export { runOnce, summaryLine } from "./run_once.ts";
export {
  compactOnce,
  type Compactor,
  type OnceTotals,
  type RunningDrain,
  startCompactor,
  startDrain,
  type StartDrainOptions,
} from "./start_compactor.ts";
