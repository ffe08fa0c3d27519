/** The query server: the only way in for `main.ts`, `cli/` and tests. */

export { OPTIONS, type QuerySettings } from "./flags.ts";
export { METRICS } from "./metrics/metrics.ts";
export { type QueryPaths, queryPaths } from "./query_paths.ts";
export { type QueryDeps, type QueryServer, startQuery } from "./start_query.ts";
