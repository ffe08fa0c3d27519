/**
 * Draws the code into `docs/architecture.md`:
 *
 * - `deno task rooms`: the rooms and their imports, which a test holds to the code;
 * - `deno task rooms --since FOLDER`: files, lines and longest functions, besides those of the
 *   earlier workspace in FOLDER.
 *
 * `deno task rooms --way [FOLDER]` prints the files of the engine that a statement goes through.
 */

import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { drawn, ROOMS_PAGE, sizesTable, withSection } from "./rooms_page.ts";
import { traceStatement } from "./trace_statement.ts";
import { readSources } from "./sources.ts";

const [command, given] = Deno.args;
const here = fileURLToPath(new URL("../../", import.meta.url));
const folder = given === undefined ? here : resolve(given);
if (command === "--way") {
  const { statement, stays } = await traceStatement(folder, here);
  const files = new Set(stays).size;
  print(`${statement}\n${files} files, ${stays.length} stays\n${stays.join(" → ")}`);
} else {
  const sources = await readSources();
  let page = drawn(await Deno.readTextFile(ROOMS_PAGE), sources);
  if (command === "--since") {
    const before = await readSources(pathToFileURL(`${folder}/`));
    page = withSection(page, "sizes", sizesTable(before, sources));
  }
  await Deno.writeTextFile(ROOMS_PAGE, page);
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}
