/** The option every process shares. SPEC.md section 1. */

import type { TextOption } from "./options.ts";

/** Its variable is the query server's alone: that one adds `env: "SVC_DATA_DIR"`. */
export const DATA_DIR_OPTION = {
  kind: "text",
  flag: "data-dir",
  placeholder: "DATA_DIR",
  default: "./data",
  help: "Local root directory.",
} as const satisfies TextOption;
