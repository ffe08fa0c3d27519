/**
 * Patterns of LIKE, ILIKE and GLOB as a row of pieces, and the form in which DuckDB matches them in
 * linear time.
 *
 * DuckDB's own matcher tries each place of the text for each wildcard and starts over at the next
 * one. A pattern of twelve wildcards takes the twelfth power of the text's length, within one row,
 * where nothing can interrupt it. Plain LIKE without `_` has a better matcher, which never goes
 * back.
 */

/** A literal text; one character (or byte, for GLOB); any number of them. */
export type Piece = { readonly text: string } | "one" | "any";

/**
 * The pieces of a LIKE pattern. Undefined: it ends in its escape, which DuckDB refuses. `escape`:
 * one letter, or none.
 */
export function likePieces(pattern: string, escape = ""): readonly Piece[] | undefined {
  const pieces: Piece[] = [];
  let text = "";
  const close = (next?: Piece) => {
    if (text !== "") pieces.push({ text });
    text = "";
    if (next !== undefined) pieces.push(next);
  };
  const letters = [...pattern];
  for (let at = 0; at < letters.length; at += 1) {
    const letter = letters[at] ?? "";
    if (letter === escape) {
      at += 1;
      const literal = letters[at];
      if (literal === undefined) return undefined;
      text += literal;
    } else if (letter === "%") close("any");
    else if (letter === "_") close("one");
    else text += letter;
  }
  close();
  return pieces;
}

/** The pieces of a GLOB pattern. Undefined: it has a set in brackets, or ends in its escape. */
export function globPieces(pattern: string): readonly Piece[] | undefined {
  if (pattern.includes("[")) return undefined;
  const like = pattern.replaceAll(/\\[^]|[*?%_\\]/g, (found) => {
    if (found === "*") return "%";
    if (found === "?") return "_";
    return found.length > 1 ? `\\${found.slice(1)}` : `\\${found}`;
  });
  return pattern.replaceAll(/\\[^]/g, "").endsWith("\\") ? undefined : likePieces(like, "\\");
}

/** The literal that is all of a pattern, but for any text before and behind it. */
export function containedIn(pieces: readonly Piece[]): string | undefined {
  const [literal, ...others] = pieces.filter((piece) => piece !== "any");
  const isOpen = pieces[0] === "any" && pieces.at(-1) === "any";
  return isOpen && others.length === 0 && typeof literal === "object" ? literal.text : undefined;
}

/**
 * An equal pattern with its wildcards in order. Between two texts come first the wildcards for one
 * character, then at most one for any number. Many patterns then have no more than one of the
 * latter.
 */
export function ordered(pieces: readonly Piece[]): readonly Piece[] {
  const inOrder: Piece[] = [];
  let isOpen = false;
  const close = () => {
    if (isOpen) inOrder.push("any");
    isOpen = false;
  };
  for (const piece of pieces) {
    if (piece === "any") isOpen = true;
    else {
      if (piece !== "one") close();
      inOrder.push(piece);
    }
  }
  close();
  return inOrder;
}

/** Pieces that DuckDB's matcher compares at each place of a text. */
const COMPARED_MAX = 256;

/**
 * Whether DuckDB's matcher, which goes back, is quick: apart from one at its end, the pattern has
 * at most one wildcard for any number.
 */
export function isQuick(pieces: readonly Piece[]): boolean {
  const inner = pieces.at(-1) === "any" ? pieces.slice(0, -1) : pieces;
  const wildcards = inner.filter((piece) => piece === "any").length;
  return wildcards === 0 || wildcards === 1 && sizeOf(inner) <= COMPARED_MAX;
}

/** Characters that a text must have. */
export function sizeOf(pieces: readonly Piece[]): number {
  return pieces.reduce(
    (sum, piece) => sum + (piece === "any" ? 0 : piece === "one" ? 1 : piece.text.length),
    0,
  );
}

/**
 * The pieces as a LIKE pattern. Undefined: a wildcard of LIKE is a letter of a text, which needs an
 * escape.
 */
export function likeText(pieces: readonly Piece[]): string | undefined {
  const parts = pieces.map((piece) =>
    piece === "any" ? "%" : piece === "one" ? "_" : /[%_]/.test(piece.text) ? undefined : piece.text
  );
  return parts.includes(undefined) ? undefined : parts.join("");
}

/** A regular expression for the whole text. `one` is what it writes for one character. */
export function regexText(pieces: readonly Piece[], one: "." | "\\C"): string {
  return "(?s)" +
    pieces.map((piece) =>
      piece === "any" ? ".*" : piece === "one" ? one : piece.text.replaceAll(/[\0-\x7f]/g, escaped)
    ).join("");
}

/** A letter in lower case, whatever it is: a pattern may be put into lower case as a whole. */
function escaped(letter: string): string {
  if (/[A-Za-z0-9_ ]/.test(letter)) return letter;
  return `\\x{${letter.charCodeAt(0).toString(16)}}`;
}
