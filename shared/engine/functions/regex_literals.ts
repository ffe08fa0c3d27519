/**
 * The literal texts that whatever a regular expression of RE2 matches must have. Sets, repetitions
 * and what matches between letters are stepped over.
 */

/** Texts of which a match has one. */
export type Alternatives = readonly string[];

/** What an expression says of the texts that it matches. */
export interface RegexLiterals {
  /** A match has one text of each, in this order, and side by side at most. There is a first. */
  readonly parts: readonly Alternatives[];
  /** Whether a match may have them in any case, as RE2 folds letters. */
  readonly ignoreCase: boolean;
  /** Whether the expression is nothing but one text. */
  readonly isText: boolean;
}

/**
 * Reads an expression, and the options that DuckDB's functions take. Undefined: no text must be
 * there, or the expression has something that is not read here.
 */
export function regexLiterals(pattern: string, options = ""): RegexLiterals | undefined {
  if (!pattern.isWellFormed() || !/^[cilmnps]*$/.test(options)) return undefined;
  const { flags = "", expression = "" } = FLAGS.exec(pattern)?.groups ?? {};
  const ignoreCase = `${options}${flags}`.includes("i");
  if (options.includes("l")) {
    return pattern === "" ? undefined : { parts: [[pattern]], ignoreCase, isText: true };
  }
  const reader = new ExpressionReader(expression);
  const parts = reader.alternatives();
  if (parts === undefined || parts.length === 0 || !reader.isAtEnd) return undefined;
  return { parts, ignoreCase, isText: reader.isText };
}

const FLAGS = /^(?:\(\?(?<flags>[imsU]+)\))?(?<expression>[^]*)$/;
const SET = String.raw`\[\^?\]?(?:\[:\^?\w+:\]|\\[^]|[^\]\\\[])*\]`;
/** A letter, one that is escaped, the start of a group, a repetition, or what is stepped over. */
const PIECE = new RegExp(
  [
    String.raw`(?<letter>[^\\^$.|?*+()[\]{}])`,
    String.raw`\\(?<escaped>[^A-Za-z0-9])`,
    String.raw`\\x\{(?<code>[0-9a-f]{1,6})\}`,
    String.raw`(?<group>\((?:\?(?::|P?<\w+>))?(?!\?))`,
    String.raw`(?<repetition>[*+?]\??|\{\d+(?:,\d*)?\}\??)`,
    String.raw`\.|\^|\$|\\[dDwWsSbBAz]|${SET}`,
  ].join("|"),
  "yu",
);

/** Deeper groups are not read. */
const DEPTH_MAX = 32;
/** More alternatives tell too little of a text. */
const ALTERNATIVES_MAX = 16;

class ExpressionReader {
  readonly #pattern: string;
  #at = 0;
  #depth = 0;
  /** Whether letters were all that was read. */
  isText = true;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#pattern.length;
  }

  /** What one of several alternatives has, up to the end of their group. Undefined: not read. */
  alternatives(): readonly Alternatives[] | undefined {
    const branches: (readonly Alternatives[])[] = [];
    do {
      const branch = this.#sequence();
      if (branch === undefined) return undefined;
      branches.push(branch);
    } while (this.#takes("|"));
    const [only = []] = branches;
    if (branches.length === 1) return only;
    this.isText = false;
    const best = branches.map((parts) => parts.toSorted((a, b) => shortest(b) - shortest(a))[0]);
    const all = best.every((one) => one !== undefined) ? [...new Set(best.flat())] : [];
    return all.length === 0 || all.length > ALTERNATIVES_MAX ? [] : [all];
  }

  #sequence(): Alternatives[] | undefined {
    const parts: Alternatives[] = [];
    let text = "";
    const close = () => {
      if (text !== "") parts.push([text]);
      text = "";
    };
    for (;;) {
      PIECE.lastIndex = this.#at;
      const piece = PIECE.exec(this.#pattern);
      if (piece === null) break;
      this.#at += piece[0].length;
      const { letter, escaped, code, group, repetition } = piece.groups ?? {};
      const literal = letter ?? escaped ?? (code && letterOf(code));
      if (literal !== undefined) {
        text += literal;
        continue;
      }
      this.isText = false;
      // What may be repeated no times need not be there.
      if (repetition !== undefined && !repetition.startsWith("+")) {
        text = [...text].slice(0, -1).join("");
      }
      close();
      if (group === undefined) continue;
      const inner = this.#group();
      if (inner === undefined) return undefined;
      parts.push(...inner);
    }
    close();
    return this.isAtEnd || /[|)]/.test(this.#pattern.charAt(this.#at)) ? parts : undefined;
  }

  /** What a group has whose content comes next. */
  #group(): readonly Alternatives[] | undefined {
    this.#depth += 1;
    const parts = this.#depth > DEPTH_MAX ? undefined : this.alternatives();
    this.#depth -= 1;
    if (!this.#takes(")")) return undefined;
    return /[*?{]/.test(this.#pattern.charAt(this.#at)) ? parts && [] : parts;
  }

  #takes(letter: string): boolean {
    const isNext = this.#pattern.charAt(this.#at) === letter;
    if (isNext) this.#at += 1;
    return isNext;
  }
}

function letterOf(code: string): string | undefined {
  const point = Number.parseInt(code, 16);
  const isLetter = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
  return isLetter ? String.fromCodePoint(point) : undefined;
}

function shortest(texts: Alternatives): number {
  return Math.min(...texts.map(({ length }) => length));
}
