/** What goes wrong in a seed, and how often: each seed draws its own, so that some are calm. */

import type { SeededRandom } from "../../shared/testing/seeded_random.ts";

/** `disk`: of the process's machine. `network`: store and catalog. `none`: a call never fails. */
export type Place = "disk" | "network" | "none";

/**
 * `refused`: it does not take effect, and its caller hears so. `unheard`: it takes effect, and its
 * caller hears of a lost connection. `late`: the same, and it takes effect later. `broken`: the
 * disk fails in the middle of it.
 */
export type Fate = "done" | "refused" | "unheard" | "late" | "broken";

/** Events of the world; probabilities for each step. */
export interface EventRates {
  /** A process ends. */
  readonly kill: number;
  /** A machine loses its power. */
  readonly powerCut: number;
  /** A process stands still, seconds to hours. */
  readonly pause: number;
  /** A wall clock jumps. */
  readonly jump: number;
}

/** Everything that a seed draws before it begins. */
export interface SeedPlan {
  readonly topology: Topology;
  readonly events: EventRates;
  readonly calls: CallFaults;
  /** Clients repeat requests that failed, under their key. Clocks do not jump then. */
  readonly repeats: boolean;
  /** Data files get their indexes, which takes most of the processor's time. */
  readonly derives: boolean;
  /** How long a snapshot outlives the next one; 0: until the next expiry. */
  readonly snapshotMs: number;
}

/**
 * `volume`: one machine, whose two ingest servers take turns with one WAL. `machines`: two, each
 * with a WAL. `mirror`: two that mirror their WALs, and a third that drains the mirror by claims.
 */
export type Topology = "volume" | "machines" | "mirror";

export class CallFaults {
  constructor(readonly network: number, readonly disk: number) {}

  fateOf(place: Place, random: SeededRandom): Fate {
    if (place === "disk") return random.chance(this.disk) ? "broken" : "done";
    if (place !== "network" || !random.chance(this.network)) return "done";
    return pickOf(["refused", "unheard", "late"] as const, random);
  }
}

export function planSeed(random: SeededRandom): SeedPlan {
  const topology = pickOf(["volume", "machines", "mirror"] as const, random);
  const repeats = random.chance(0.6);
  return {
    topology,
    repeats,
    derives: random.chance(0.1),
    snapshotMs: pickOf([0, 0, 300_000], random),
    events: {
      kill: pickOf([0, 0.001, 0.003, 0.01], random),
      powerCut: pickOf([0, 0.001, 0.002, 0.006], random),
      pause: pickOf([0, 0.001, 0.004], random),
      jump: repeats ? 0 : pickOf([0, 0.001, 0.003], random),
    },
    calls: new CallFaults(
      pickOf([0, 0.003, 0.01, 0.04], random),
      pickOf([0, 0, 0.001, 0.005], random),
    ),
  };
}

/** One of `values`. */
export function pickOf<T>(values: readonly T[], random: SeededRandom): T {
  const value = values[random.below(values.length)];
  if (value === undefined) throw new Error("there is nothing to pick from");
  return value;
}
