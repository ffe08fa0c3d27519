/** `svc`: the command line. Permissions: `deno task svc` grants what its commands need. */

import { COMMANDS } from "./commands.ts";
import { systemConsole } from "./console.ts";
import { variableNames } from "../shared/os/environment.ts";
import { runCommand } from "./run_command.ts";

if (import.meta.main) {
  const env = (name: string) => Deno.env.get(name);
  const variables = variableNames();
  const options = { commands: COMMANDS, console: systemConsole(), env, variables };
  Deno.exit(await runCommand(Deno.args, options));
}
