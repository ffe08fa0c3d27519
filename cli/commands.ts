/** The commands of `svc`: SPEC.md section 1, as far as they work. */

import type { CommandEntry } from "./command.ts";

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "dev",
    summary: "Run the whole stack here: ingest, compactor and query server.",
    load: async () => (await import("./commands/dev.ts")).command,
  },
  {
    name: "gen",
    summary: "Print synthetic NDJSON events.",
    load: async () => (await import("./commands/gen.ts")).command,
  },
];
