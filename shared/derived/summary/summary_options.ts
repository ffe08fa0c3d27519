/** Options of processes that make summaries: docs/api/command_line.md#options-of-the-servers. */

import type { OptionTable, Settings } from "../../config/options.ts";
import { GROUP_VALUES_MAX, SUMMARY_BYTES_MAX, type SummaryLimits } from "./build_summary.ts";

export const SUMMARY_OPTIONS = {
  typedGroupCountCardinality: {
    kind: "integer",
    flag: "typed-group-count-cardinality",
    env: "SVC_TYPED_GROUP_COUNT_CARDINALITY",
    placeholder: "n",
    default: GROUP_VALUES_MAX,
    min: 1,
    max: 65_534,
    help: "Most distinct values of a column that the summary of a data file counts, also by " +
      "minute and together with other columns. Columns with more values are counted beside " +
      "the summary, by value only.",
  },
  indexFooterMaxBytes: {
    kind: "integer",
    flag: "index-footer-max-bytes",
    env: "SVC_INDEX_FOOTER_MAX_BYTES",
    placeholder: "bytes",
    default: SUMMARY_BYTES_MAX,
    min: 1_024,
    max: 16 * 1024 * 1024,
    help: "Largest summary of one data file. If it would be larger, the least useful parts are " +
      "left out.",
  },
} as const satisfies OptionTable;

/** The bounds of summaries that these options say. */
export function summaryLimitsOf(settings: Settings<typeof SUMMARY_OPTIONS>): SummaryLimits {
  return {
    groupValuesMax: settings.typedGroupCountCardinality,
    bytesMax: settings.indexFooterMaxBytes,
  };
}
