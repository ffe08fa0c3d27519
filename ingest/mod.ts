/** The ingest server: the only entry point for `main.ts`, `cli/` and tests. */

export { type IngestSettings, OPTIONS } from "./flags.ts";
export { METRICS } from "./metrics.ts";
export {
  type IngestDeps,
  type IngestPaths,
  ingestPaths,
  type IngestServer,
  type RunningDrain,
  startIngest,
} from "./start_ingest.ts";
