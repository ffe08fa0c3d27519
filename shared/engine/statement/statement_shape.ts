/**
 * Finds what statements have in common that differ in their instants alone. A dashboard sends such
 * statements when it asks for another range each time. Instants in quotes are replaced by others of
 * the same length. What is made of the text (its tree, a tree's text) holds them as they are, so
 * the first ones can be put back into it.
 */

/** A text with stand-ins for its instants. */
export interface StatementShape {
  readonly text: string;
  /** Returns what would have been made of the first text, given what was made of `text`. */
  readonly restored: (made: string) => string;
}

/** An instant in quotes: in single ones as SQL has it, in double ones as a tree has it. */
const QUOTED_INSTANT = /(['"])(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?Z?)?)\1/g;
const INSTANTS_MAX = 8;
/**
 * An escape, or a text that goes on in the next line: what a text holds may then be no part of the
 * statement's.
 */
const OTHER_TEXTS = /\\|\n\s*'/;

/**
 * Returns the shape of a statement's or a tree's text. It is undefined where the text has no
 * instant, has too many, or could not be restored.
 */
export function shapeOf(text: string): StatementShape | undefined {
  if (OTHER_TEXTS.test(text)) return undefined;
  const instants: string[] = [];
  const shape = text.replace(QUOTED_INSTANT, (_all, quote: string, instant: string) => {
    instants.push(instant);
    return quote + standIn(instants.length, instant) + quote;
  });
  const standIns = instants.map((instant, at) => standIn(at + 1, instant));
  if (instants.length === 0 || instants.length > INSTANTS_MAX) return undefined;
  // Otherwise the text could not be told from a stand-in.
  if (standIns.some((one) => text.includes(one))) return undefined;
  return {
    text: shape,
    restored: (made) =>
      instants.reduce((all, instant, at) => all.replaceAll(standIns[at] ?? "", instant), made),
  };
}

/** Returns the stand-in for a place. It is another one for each place, and no part of another. */
function standIn(place: number, instant: string): string {
  return String(place).padStart(4, "0") + instant.slice(4).replaceAll(/\d/g, "0");
}
