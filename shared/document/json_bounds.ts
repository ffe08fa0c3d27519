/**
 * How deep a JSON text nests and how much it holds, without parsing it. A text that is nothing but
 * brackets and commas makes a hundred times its bytes in memory, and takes seconds for each MiB to
 * be written again.
 */

import { BACKSLASH, COLON, COMMA, QUOTE } from "../base/json_letters.ts";

/** How deep a JSON text may nest, and how many values and names it may have. */
export interface JsonBounds {
  /** Most objects and arrays around a value. */
  readonly depthMax: number;
  /** Most members and elements, of all objects and arrays together. */
  readonly valuesMax: number;
  /** Most members of one object. Default: no bound but `valuesMax`. */
  readonly namesMax?: number;
}

/**
 * The bounds of a document, whose text may be long but consists of few parts. Search engines' own
 * parser goes as deep. A member takes ten times as long as an element: the runtime looks its name
 * up whenever the object is copied or written. A search engine itself takes 1,000 names for all
 * documents of an index, unless told otherwise.
 */
export const DOCUMENT_BOUNDS: JsonBounds = { depthMax: 1_000, valuesMax: 50_000, namesMax: 10_000 };

/**
 * What is wrong with `text`, to follow "it"; undefined within the bounds. For text that is no JSON
 * it may be wrong. It costs a short text a comparison, one with few brackets and commas a search
 * for each.
 */
export function boundsFault(text: string, bounds: JsonBounds): string | undefined {
  const { depthMax, valuesMax, namesMax = valuesMax } = bounds;
  // Each level opens and closes; each value takes a character and what separates it.
  if (text.length <= 2 * Math.min(depthMax, valuesMax)) return undefined;
  const most = Math.max(depthMax, valuesMax);
  const opened = occurrences(text, "{", most) + occurrences(text, "[", most);
  const valuesUnscanned = Math.min(valuesMax, namesMax);
  if (opened <= depthMax && opened + occurrences(text, ",", most) <= valuesUnscanned) {
    return undefined;
  }
  return scannedFault(text, bounds);
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

function scannedFault(
  text: string,
  { depthMax, valuesMax, namesMax = valuesMax }: JsonBounds,
): string | undefined {
  let depth = 0;
  let values = 0;
  /** Names of the innermost object, and of those around it. */
  let names = 0;
  const outerNames: number[] = [];
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at += 1;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (code === COMMA) values += 1;
    else if (code === COLON) names += 1;
    else if (isOpening(code)) {
      depth += 1;
      // Its first one, which no comma precedes.
      values += 1;
      outerNames.push(names);
      names = 0;
    } else if (isClosing(code)) {
      depth -= 1;
      names = outerNames.pop() ?? 0;
    }
    if (depth > depthMax) return `nests deeper than ${depthMax} objects and arrays`;
    if (names > namesMax) {
      return `has an object of more than ${namesMax} members: tell them apart by values, not by names`;
    }
    if (values > valuesMax) return `holds more than ${valuesMax} members and elements`;
  }
  return undefined;
}

function isOpening(code: number): boolean {
  return code === 0x7b || code === 0x5b;
}

function isClosing(code: number): boolean {
  return code === 0x7d || code === 0x5d;
}
