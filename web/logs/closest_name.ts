/** The name that somebody may have meant: `servicename` is `service.name`. */

import { nearestName } from "../../shared/base/nearest_name.ts";

const EDITS_SHARE_MAX = 1 / 3;

/** Returns the known name that is most like `name`; undefined: none is. */
export function closestName(name: string, known: Iterable<string>): string | undefined {
  const letters = new Map<string, string>();
  const partly: string[] = [];
  for (const candidate of known) {
    const key = plain(candidate);
    if (key !== "" && !letters.has(key)) letters.set(key, candidate);
    // `status` for `http.status_code`.
    const parts = candidate.toLowerCase().split(/[^\p{L}\p{N}]+/u);
    if (parts.includes(name.toLowerCase())) partly.push(candidate);
  }
  const nearest = plain(name) === ""
    ? undefined
    : nearestName(plain(name), letters.keys(), EDITS_SHARE_MAX);
  if (nearest !== undefined) return letters.get(nearest);
  return partly.toSorted((a, b) => a.length - b.length)[0];
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, "");
}
