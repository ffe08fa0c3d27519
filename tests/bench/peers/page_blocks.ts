/**
 * Replaces generated blocks of a page. A block begins with a comment `<!-- peers: NAME -->` and
 * ends with `<!-- peers end -->`, each a line of its own.
 */

import { OperatingError } from "../../../shared/base/errors.ts";

const BLOCK = /^<!-- peers: (\w+) -->\n[\s\S]*?^<!-- peers end -->$/gm;

/** The page with those of its blocks replaced that are given. Errors: it has none of them. */
export function replaceBlocks(
  page: string,
  blocks: ReadonlyMap<string, string>,
  name: string,
): string {
  let replaced = 0;
  const text = page.replace(BLOCK, (old, block: string) => {
    const made = blocks.get(block);
    if (made === undefined) return old;
    replaced += 1;
    const lines = made.split("\n").map((line) => line.startsWith("- ") ? wrapped(line) : line);
    return `<!-- peers: ${block} -->\n${lines.join("\n")}\n<!-- peers end -->`;
  });
  if (replaced > 0) return text;
  throw new OperatingError(
    "not_found",
    `Cannot write tables into ${name}: it has no block ${[...blocks.keys()].join(", ")}`,
  );
}

/** Letters of a line of a page, as everywhere in it. */
const WIDTH_MAX = 100;

/** An item of a list in lines that are no wider than a page's. A word that is wider stays whole. */
function wrapped(item: string): string {
  const lines: string[] = [];
  let line = "";
  for (const word of item.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > WIDTH_MAX) {
      lines.push(line);
      line = `  ${word}`;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line].join("\n");
}
