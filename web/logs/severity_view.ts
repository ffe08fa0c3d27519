/** How a level looks: its colour's name, and its place in a stack. */

import { SEVERITIES, type Severity, severityOf } from "../../shared/search/severities.ts";

/** From the most severe: what matters most stands at the foot of a bar. */
export const STACK: readonly (Severity | "none")[] = [
  ...(Object.keys(SEVERITIES) as Severity[]).toReversed(),
  "none",
];

/** Returns the level that a row names; `none` for any other name. */
export function severityClass(level: string): Severity | "none" {
  return severityOf(level) ?? "none";
}
