/** All kinds of faults, controls first. */

import type { Fault } from "../fault.ts";
import { CLOCK } from "./clock.ts";
import { DESCRIPTORS } from "./descriptors.ts";
import { FULL_DISK, READ_ONLY } from "./disks.ts";
import { FLIP } from "./flips.ts";
import { PICTURE } from "./pictures.ts";
import { MACHINES } from "./machines.ts";
import { LYING_DISK, NO_SYNC, POWER_CUT, POWER_CUT_XFS } from "./power_cut.ts";
import { SERVICES } from "./services.ts";
import { KILL, PAUSE } from "./signals.ts";
import { UPKEEP } from "./upkeep.ts";

export const FAULTS: readonly Fault[] = [
  LYING_DISK,
  NO_SYNC,
  POWER_CUT,
  POWER_CUT_XFS,
  PICTURE,
  KILL,
  PAUSE,
  UPKEEP,
  FULL_DISK,
  READ_ONLY,
  SERVICES,
  MACHINES,
  CLOCK,
  DESCRIPTORS,
  FLIP,
];
