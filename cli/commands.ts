/** The commands of `svc`: SPEC.md section 1, as far as they work. */

import type { CommandEntry } from "./command.ts";

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "gen",
    summary: "Print synthetic NDJSON events.",
    load: async () => (await import("./commands/gen.ts")).command,
  },
];
