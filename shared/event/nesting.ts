/**
 * How deep a JSON text nests, without parsing it: what nests millions deep parses within seconds, but takes a minute to
 * be written again.
 */

/** Most objects and arrays around a value of a document: as deep as the search engine's own parser goes. */
export const DOCUMENT_DEPTH_MAX = 1_000;

/**
 * Whether `text` nests deeper than `depthMax`; of text that is no JSON, maybe not right. Costs a short document a
 * comparison, one with few brackets a search for each.
 */
export function nestsDeeper(text: string, depthMax: number): boolean {
  // Each level opens and closes.
  if (text.length <= 2 * depthMax) return false;
  const brackets = occurrences(text, "{", depthMax);
  if (brackets + occurrences(text, "[", depthMax - brackets) <= depthMax) return false;
  return depthOf(text, depthMax) > depthMax;
}

/** How often `character` is in the text; counts no further than one past `max`. */
function occurrences(text: string, character: string, max: number): number {
  let count = 0;
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) {
    count += 1;
    if (count > max) break;
  }
  return count;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The depth of the deepest value, or of the first past `max`. */
function depthOf(text: string, max: number): number {
  let depth = 0;
  let deepest = 0;
  let isInString = false;
  for (let at = 0; at < text.length && deepest <= max; at += 1) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, depth += 1);
    else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return deepest;
}
