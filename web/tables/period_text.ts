import { durationText } from "../view/number_text.ts";

/** How long rows are kept, of seconds: `30 d`; `for ever` where nothing says so. */
export function periodText(secs: number | undefined): string {
  return secs === undefined ? "for ever" : durationText(1_000 * secs);
}
