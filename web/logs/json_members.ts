/** The members of a JSON object as they are written: a number keeps each of its digits. */

import { flatAttributes, type NamedMembers } from "../../shared/search/flat_attributes.ts";

/**
 * Returns names and values of the outermost object: texts without their quotes, anything else as it
 * is written, but an exponent's `+`; a null is left out. Undefined: `text` is no object.
 */
export function jsonMembers(text: string): NamedMembers<string> | undefined {
  return isObject(text) ? withTexts(writtenMembers(text)) : undefined;
}

/** Returns them by the names that a search has for them, those within nested objects as well. */
export function flatMembers(text: string): NamedMembers<string> | undefined {
  if (!isObject(text)) return undefined;
  return withTexts(flatAttributes(
    writtenMembers(text),
    (value) => value.startsWith("{") ? writtenMembers(value) : undefined,
  ));
}

function withTexts(members: NamedMembers<string>): NamedMembers<string> {
  return members.map(([name, value]) => [name, valueText(value)]);
}

/** Values are as they are written. */
function writtenMembers(text: string): NamedMembers<string> {
  const members: [string, string][] = [];
  // The text is known to be JSON, so that a comma or a colon outside of all else ends a piece.
  let start = text.indexOf("{") + 1;
  let name = "";
  for (let at = start, depth = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') at = endOfString(text, at);
    else if (char === "{" || char === "[") depth += 1;
    else if (depth > 0) depth -= char === "}" || char === "]" ? 1 : 0;
    else if (char === ":") {
      name = JSON.parse(text.slice(start, at));
      start = at + 1;
    } else if (char === "," || char === "}") {
      const value = text.slice(start, at).trim();
      if (value !== "" && value !== "null") members.push([name, value]);
      start = at + 1;
      if (char === "}") break;
    }
  }
  return members;
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Returns the place of the closing quote. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === '"') return at;
  }
  return text.length;
}

function valueText(written: string): string {
  if (written.startsWith('"')) return JSON.parse(written);
  // Statements and searches have a number's exponent without it.
  return /^-?\d/.test(written) ? written.replace("e+", "e") : written;
}
