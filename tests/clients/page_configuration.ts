/** Configurations of shippers as `docs/send.md` shows them, at a test's places: for tests only. */

import { workspacePath } from "../../cli/permissions.ts";

/**
 * The first block below the heading `### <name>`, each `from` replaced by its `to`. Throws where
 * the page has no such block, or the block no such place.
 */
export async function pageConfiguration(
  name: string,
  places: Readonly<Record<string, string>>,
): Promise<string> {
  const page = await Deno.readTextFile(workspacePath("docs/send.md"));
  const section = page.split(`\n### ${name}\n`)[1]?.split(/\n##/)[0] ?? "";
  let text = /\n```text\n([\s\S]*?)```\n/.exec(section)?.[1];
  if (text === undefined) throw new Error(`docs/send.md shows no configuration of ${name}`);
  for (const [from, to] of Object.entries(places)) {
    if (!text.includes(from)) throw new Error(`docs/send.md, ${name}: there is no ${from}`);
    text = text.replace(from, to);
  }
  return text;
}
