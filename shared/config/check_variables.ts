/**
 * A program that names the variables which no option reads, on stderr. It is run before a role,
 * because a role may not list its variables. It always ends with 0. It calls
 * `Deno` for stderr.
 */

import { variableNames } from "../os/environment.ts";
import { unknownVariables } from "./unknown_variables.ts";

if (import.meta.main) {
  const notes = unknownVariables(variableNames()).map((note) => `${note}\n`);
  await Deno.stderr.write(new TextEncoder().encode(notes.join("")));
}
