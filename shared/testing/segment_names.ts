/** Names of segments as one writer gives them, for tests of what the catalog keeps of them. */

import { SegmentNames } from "../wal/layout.ts";
import { SeededRandom } from "./seeded_random.ts";
import { SleeplessClock } from "./sleepless_clock.ts";

/** One after another. */
export function segmentNames(count: number, seed = 1): string[] {
  const names = new SegmentNames(new SleeplessClock(), new SeededRandom(seed));
  return Array.from({ length: count }, () => names.next());
}
