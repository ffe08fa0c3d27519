/**
 * What statements have in common that differ in their instants alone, as those of a dashboard do
 * that asks for another range each time. Instants in quotes are replaced by others of the same
 * length; what is made of the text (its tree, a tree's text) holds them as they are, so that the
 * first ones can be put back into it.
 */

export interface StatementShape {
  readonly text: string;
  /** What would have been made of the first text, given what was made of `text`. */
  readonly restored: (made: string) => string;
}

/** In single quotes as SQL has it, in double ones as a tree has it. */
const QUOTED_INSTANT = /(['"])(\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?Z?)?)\1/g;
const INSTANTS_MAX = 8;
/**
 * An escape, or a text that goes on in the next line: what a text holds may then be no part of the
 * statement's.
 */
const OTHER_TEXTS = /\\|\n\s*'/;

/** Of a statement's or a tree's text; undefined where it has no instant, or too many. */
export function shapeOf(text: string): StatementShape | undefined {
  if (OTHER_TEXTS.test(text)) return undefined;
  const instants: string[] = [];
  const shape = text.replace(QUOTED_INSTANT, (_all, quote: string, instant: string) => {
    instants.push(instant);
    return quote + standIn(instants.length, instant) + quote;
  });
  const standIns = instants.map((instant, at) => standIn(at + 1, instant));
  if (instants.length === 0 || instants.length > INSTANTS_MAX) return undefined;
  // Else it could not be told from what stands for one.
  if (standIns.some((one) => text.includes(one))) return undefined;
  return {
    text: shape,
    restored: (made) =>
      instants.reduce((all, instant, at) => all.replaceAll(standIns[at] ?? "", instant), made),
  };
}

/** Another for each place, and no part of another. */
function standIn(place: number, instant: string): string {
  return String(place).padStart(4, "0") + instant.slice(4).replaceAll(/\d/g, "0");
}
