/**
 * Finds what statements have in common that differ in their instants and ids alone. A dashboard
 * sends such statements when it asks for another range each time, a page of traces when it asks for
 * another trace. Instants and ids in quotes are replaced by others of the same length. What is made
 * of the text (its tree, a tree's text) holds them as they are, so the first ones can be put back
 * into it.
 */

/** A text with stand-ins for its instants and ids. */
export interface StatementShape {
  readonly text: string;
  /**
   * Returns what would have been made of the first text, given what was made of `text`. Undefined:
   * something else than its texts was made of them, of a BLOB's for example.
   */
  readonly restored: (made: string) => string | undefined;
}

/**
 * An instant or an id of hexadecimal digits in quotes: in single ones as SQL has it, in double ones
 * as a tree has it. After a letter single ones hold something else (`x'00'`). A name that is like
 * an id may need quotes where its stand-in needs none.
 */
const QUOTED =
  /(['"])(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?Z?)?|(?:(?<=')(?<!\w')|(?<="value":"))[\da-f]{8,64})\1/g;
const TEXTS_MAX = 8;
/**
 * An escape, or a text that goes on in the next line: what a text holds may then be no part of the
 * statement's.
 */
const OTHER_TEXTS = /\\|\n\s*'/;

/**
 * Returns the shape of a statement's or a tree's text. It is undefined where the text has no
 * instant and no id, has too many, or could not be restored.
 */
export function shapeOf(text: string): StatementShape | undefined {
  if (OTHER_TEXTS.test(text)) return undefined;
  const own: string[] = [];
  const standIns: string[] = [];
  const shape = text.replace(QUOTED, (_all, quote: string, one: string) => {
    own.push(one);
    standIns.push(standIn(own.length, one));
    return quote + standIns.at(-1) + quote;
  });
  if (own.length === 0 || own.length > TEXTS_MAX) return undefined;
  // Otherwise the text could not be told from a stand-in.
  if (standIns.some((one) => text.includes(one))) return undefined;
  return {
    text: shape,
    restored: (made) =>
      standIns.every((one) => made.includes(one))
        ? own.reduce((all, one, at) => all.replaceAll(standIns[at] ?? "", one), made)
        : undefined,
  };
}

/**
 * Returns the stand-in for a place. It is another one for each place, and no part of another. No
 * number is written like it.
 */
function standIn(place: number, one: string): string {
  if (one.includes("-")) {
    return String(place).padStart(4, "0") + one.slice(4).replaceAll(/\d/g, "0");
  }
  return `ab${place}`.padEnd(one.length, "f");
}
