/**
 * Variables that have our prefix and that no option reads. A misspelt one would leave its option at
 * the default without a word.
 *
 * It is a warning and no error: the prefix is short, and others may use it. A name alone is told,
 * never a value.
 */

import { nearestName } from "../base/nearest_name.ts";
import { VARIABLES } from "./variables.ts";

/**
 * Read by our tests, or by the files of `deploy/grafana`; or set by Kubernetes in each container,
 * for a service called `svc-…`.
 */
const OTHERS = [
  /^SVC_(TEST|FUZZ|BENCH|STORAGE)_|_(SEEDS?|ROUNDS|RUNS)$/,
  /^SVC_(DASHBOARDS|PG_ADDRESS|PG_SSLMODE)$/,
  /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/,
];
const PREFIX = "SVC_";
const KNOWN: ReadonlySet<string> = new Set(VARIABLES);
const KNOWN_ENDS = VARIABLES.map((name) => name.slice(PREFIX.length));
/** A share of the letters behind the prefix. One word more in front is near. */
const NEAR_SHARE = 2 / 5;

/** One sentence for each of `names` that nothing reads. */
export function unknownVariables(names: Iterable<string>): string[] {
  const notes: string[] = [];
  for (const name of names) {
    if (!name.startsWith(PREFIX) || KNOWN.has(name)) continue;
    if (OTHERS.some((other) => other.test(name))) continue;
    const near = nearestName(name.slice(PREFIX.length), KNOWN_ENDS, NEAR_SHARE);
    const remedy = near === undefined
      ? "--help lists those that are read"
      : `did you mean ${PREFIX}${near}?`;
    notes.push(`The variable ${name} is set, and no option reads it: ${remedy}`);
  }
  return notes;
}
