/** The charts of the page Status, in order: which series each shows. */

import { bytesText } from "../view/bytes_text.ts";
import { durationText, shortText } from "../view/number_text.ts";
import type { Series, Unit } from "./status_answer.ts";

export interface ChartPlan {
  readonly title: string;
  /** What a high value means for whoever looks. */
  readonly note: string;
  /** Names of its series, and what the legend calls each. */
  readonly lines: readonly (readonly [name: string, label: string])[];
}

export const CHARTS: readonly ChartPlan[] = [
  {
    title: "Rows a second",
    note: "Committed ones follow within seconds.",
    lines: [["ingest_rows", "written"], ["committed_rows", "committed"]],
  },
  {
    title: "Bytes a second into the WAL",
    note: "Before they are compressed into tables.",
    lines: [["ingest_bytes", "written"]],
  },
  {
    title: "Freshness",
    note: "Queries have these rows already, from the WAL.",
    lines: [["backlog_age", "oldest row without a commit"]],
  },
  {
    title: "Backlog",
    note: "Grows for long only where the compactor cannot follow.",
    lines: [["backlog_bytes", "waits for a commit"]],
  },
  {
    title: "Statements a second",
    note: "Statements, and requests for traces.",
    lines: [["query_requests", "ended"]],
  },
  {
    title: "Statements now",
    note: "Waiting ones want a turn, or memory first.",
    lines: [
      ["query_busy", "at work"],
      ["query_waiting", "waiting"],
      ["query_admission_waiting", "for memory"],
    ],
  },
  {
    title: "Memory",
    note: "Resident, with processes of its own.",
    lines: [
      ["ingest_memory", "ingest"],
      ["compactor_memory", "compactor"],
      ["query_memory", "query"],
    ],
  },
];

const TEXTS: Readonly<Record<Unit, (value: number) => string>> = {
  bytes: bytesText,
  seconds: (value) => durationText(1_000 * value),
  rows: shortText,
  requests: shortText,
  segments: shortText,
  statements: shortText,
};

/** A value of a series as people read it. */
export function valueText(value: number | null | undefined, { unit, kind }: Series): string {
  if (value === null || value === undefined) return "–";
  const text = TEXTS[unit](value);
  return kind === "rate" && unit !== "statements" ? `${text}/s` : text;
}
