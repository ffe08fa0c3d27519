/** One seed: a whole life, and what it came to. */

import { crc32c } from "../../shared/base/crc32c.ts";
import { messageOf } from "../../shared/base/errors.ts";
import { utf8 } from "../../shared/base/bytes.ts";
import type { Mutation } from "./mutations.ts";
import { World } from "./world.ts";

export interface SeedOutcome {
  readonly seed: number;
  /** Why the seed failed; undefined: it held. */
  readonly failure: unknown;
  /** A line a step: its number, virtual milliseconds, process, call, fate. */
  readonly trace: readonly string[];
  /** A sum of the trace, to compare runs by. */
  readonly digest: string;
  /** How often what happened. */
  readonly counts: ReadonlyMap<string, number>;
  readonly virtualMs: number;
}

export const STEPS_DEFAULT = 600;

/** Never throws: see `failure`. */
export async function runSeed(
  seed: number,
  options: { readonly steps?: number; readonly mutation?: Mutation } = {},
): Promise<SeedOutcome> {
  const { steps = STEPS_DEFAULT, mutation } = options;
  await using world = await World.open(seed, `simulation-${worlds += 1}`, mutation);
  let failure: unknown;
  const { setTimeout } = globalThis;
  globalThis.setTimeout = atOnce as unknown as typeof setTimeout;
  try {
    await world.live(steps);
  } catch (error) {
    failure = error;
  } finally {
    globalThis.setTimeout = setTimeout;
  }
  const { trace, nowMs } = world.scheduler;
  const digest = crc32c(utf8(trace.join("\n"))).toString(16).padStart(8, "0");
  return { seed, failure, trace, digest, counts: world.counts, virtualMs: nowMs };
}

/**
 * What gives way to others (`shared/base/others_turn.ts`) goes on at once: a timer's moment is not
 * the seed's to decide. Nothing else of what is simulated sets one.
 */
function atOnce(act: () => void, ms = 0): number {
  if (ms > 0) throw new Error(`a timer of ${ms} ms is not the seed's`);
  queueMicrotask(act);
  return 0;
}

let worlds = 0;

/** What to print of a seed that failed: the last steps before it, and how to repeat it. */
export function tellFailure({ seed, failure, trace }: SeedOutcome, lines = 40): string {
  const stack = failure instanceof Error ? failure.stack ?? "" : "";
  return [
    ...trace.slice(-lines),
    `seed ${seed} failed after ${trace.length} steps: ${messageOf(failure)}`,
    ...stack.split("\n").slice(1, 6),
    `repeat it: deno task simulate --seeds 1 --seed ${seed} --trace`,
  ].join("\n");
}
