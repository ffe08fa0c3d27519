/**
 * Calls of `match_terms` and its like with literal words, exchanged for patterns that look for just
 * these words. Such patterns are compiled once, instead of cutting each text into words. On short
 * lines that is twenty times as fast. 2048 texts of 60 KB, within which DuckDB cannot be
 * interrupted, take half a second instead of twelve.
 *
 * Words of ASCII, in a text in which only ASCII is a letter, are told by their neighbours. In any
 * other text a neighbour beyond ASCII may be a letter, a mark that changes the word, or neither.
 * Such a text matches for certain where the neighbours are ASCII. It matches not at all where the
 * word is not there. Otherwise it is cut into words.
 */

import { isAscii } from "../../base/ascii.ts";
import { present } from "../../base/assert.ts";
import { OperatingError } from "../../base/errors.ts";
import {
  asciiPattern,
  caselessRun,
  foldedContains,
  isFoldable,
  quickLetters,
  quickStart,
  sieved,
} from "./folded_text.ts";
import { columnNode, integerNode } from "../statement/tree_nodes.ts";
import {
  nodeAt,
  nodesAt,
  someNode,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import { textOfConstant } from "../statement/text_of_constant.ts";
import { type MatchKind, type Word, wordsOf } from "./match_words.ts";

const KINDS: Readonly<Record<string, MatchKind>> = {
  match: "all",
  match_terms: "all",
  match_any: "any",
  match_phrase: "phrase",
  match_prefix: "prefix",
};

/**
 * Exchanges the calls below `root`; `stemmed` are the `COLUMN_REF` nodes of columns whose words are
 * compared by their stems. Errors: `invalid_argument` for more words than are looked for at once,
 * and for words that are no literal where stems are compared.
 */
export function exchangeMatchCalls(root: TreeNode, stemmed: ReadonlySet<TreeNode>): void {
  for (const call of callsBelow(root, stemmed)) exchange(call);
}

/** Whether there are any such calls. Errors: those of `exchangeMatchCalls`. */
export function holdsMatchCalls(root: TreeNode, stemmed: ReadonlySet<TreeNode>): boolean {
  return callsBelow(root, stemmed).length > 0;
}

/** A call with literal words. */
export interface MatchCall {
  readonly node: TreeNode;
  readonly kind: MatchKind;
  readonly text: TreeNode;
  readonly words: readonly Word[];
}

/**
 * What a node calls, if it is such a call, as a column without stems has it. Errors: those of
 * `exchangeMatchCalls`.
 */
export function matchCallOf(node: TreeNode): MatchCall | undefined {
  return callOf(node, new Set());
}

/**
 * The constant with the words of a call. Undefined for any other node, or without literal words.
 */
export function searchedWords(node: TreeNode): TreeNode | undefined {
  if (kindOf(node) === undefined) return undefined;
  const [, words] = nodesAt(node, "children");
  return words === undefined || textOfConstant(words) === undefined ? undefined : words;
}

function callsBelow(root: TreeNode, stemmed: ReadonlySet<TreeNode>): MatchCall[] {
  const calls: MatchCall[] = [];
  walk(root, (node) => {
    const call = callOf(node, stemmed);
    if (call !== undefined) calls.push(call);
  });
  return calls;
}

function callOf(node: TreeNode, stemmed: ReadonlySet<TreeNode>): MatchCall | undefined {
  const kind = kindOf(node);
  const name = textAt(node, "function_name").toLowerCase();
  const children = nodesAt(node, "children");
  const [text, words, ...others] = children;
  if (kind === undefined || text === undefined || words === undefined) return undefined;
  // With arguments by name (`text := raw`) a call stays a macro's.
  const placed = others.length === 0 && textAt(text, "alias") === "" &&
    textAt(words, "alias") === "";
  const literal = placed ? textOfConstant(words) : undefined;
  // The text is written more than once, so a subquery in it would run more than once.
  if (literal !== undefined && !holdsSubquery(text)) {
    const isStemmed = stemmed.has(text);
    return { node, kind, text, words: wordsOf(literal, { name, kind, isStemmed }) };
  }
  const ofText = children.find((child) => textAt(child, "alias").toLowerCase() === "text") ?? text;
  if (stemmed.has(ofText)) throw noLiteral(name);
  return undefined;
}

function kindOf(node: TreeNode): MatchKind | undefined {
  if (node["class"] !== "FUNCTION") return undefined;
  const name = textAt(node, "function_name").toLowerCase();
  return Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
}

/** A macro compares words as they are, without stems. */
function noLiteral(name: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot call ${name} on a column with the tokenizer stem and words that are no literal: write the ` +
      `words into the statement, as in ${name}(message, 'words'), or compare them as they are written: ` +
      `${name}(message || '', …)`,
    { reason: "words_not_literal" },
  );
}

function holdsSubquery(root: TreeNode): boolean {
  return someNode(root, (node) => node["class"] === "SUBQUERY");
}

function exchange({ node, kind, text, words }: MatchCall): void {
  const build = new Expressions(node, text);
  const expression = words.length === 0
    ? build.call("match_nothing", build.text)
    : !words.every(isOfAscii)
    ? otherWords(build, kind, words)
    : words.some(({ isFamily }) => isFamily)
    ? stemmedWords(build, kind, words)
    : asciiWords(build, kind, words);
  node["function_name"] = expression["function_name"];
  node["children"] = expression["children"];
}

const isOfAscii = ({ common }: Word) => isAscii(common);
const longestOf = (words: readonly Word[]) => present(byLength(words)[0]);
const byLength = (words: readonly Word[]) =>
  words.toSorted((a, b) => b.common.length - a.common.length);

/**
 * Looks for words of ASCII. Patterns that begin with literal letters are matched four times as fast
 * as others (`folded_text.ts`). So a text is first looked through for the words with whatever
 * stands before them. Then it is looked through for the words between two spaces, where most are,
 * and for the words in any case with a space before them.
 */
function asciiWords(build: Expressions, kind: MatchKind, words: readonly Word[]): TreeNode {
  const found = (words: readonly Word[], before?: string) =>
    patternsOf(kind, words).map((pattern) =>
      build.matches(
        build.text,
        `(?i)${pattern(before === undefined ? ANY_NEIGHBOUR : { ...ANY_NEIGHBOUR, before })}`,
      )
    );
  const loose = found(words);
  const spaced = kind === "any"
    ? []
    : found(words.map((word) => ({ ...word, pattern: asciiPattern(word.common) })), " ");
  const plain = plainRuns(kind, words).map((run) =>
    build.call("contains", build.text, build.constant(run))
  );
  const sure = patternsOf(kind, words).map((pattern) =>
    build.matches(build.lower, pattern(ASCII_NEIGHBOUR))
  );
  const may = loose.map((one, at) =>
    build.any([...plain.slice(at, at + 1), ...spaced.slice(at, at + 1), one])
  );
  const exact = build.call(
    "match_ascii_words",
    build.text,
    build.all(may),
    build.all(sure),
    build.lazily((rare) => rare.cut(kind, words)),
  );
  const sieves = quickSieves(kind, words).flatMap((words) => found(words, ""));
  const quick = sieved(build.any(sieves), exact);
  const caseless = kind === "any" ? undefined : caselessRun(longestOf(words).common);
  return caseless === undefined
    ? quick
    : sieved(build.call("contains", build.text, build.constant(caseless)), quick);
}

/** What a text of ASCII has for certain, for each of `patternsOf`; none of `match_any`. */
function plainRuns(kind: MatchKind, words: readonly Word[]): readonly string[] {
  if (kind === "any") return [];
  const run = (words: readonly Word[]) => ` ${words.map(({ common }) => common).join(" ")}`;
  if (kind === "all") return byLength(words).map((word) => `${run([word])} `);
  return [kind === "prefix" ? run(words) : `${run(words)} `];
}

/** Words of `match_any` that are looked for one by one. More of them are one pattern. */
const SIEVES_MAX = 2;
/** Letters that have a third form, with which RE2 is slow. */
const SLOW_LETTERS = "sk";

/** Patterns of each list are looked for, until one is found. */
function quickSieves(kind: MatchKind, words: readonly Word[]): readonly (readonly Word[])[] {
  if (kind !== "any") return [quickWords(kind, words)];
  const sieves = words.map((word) => quickWords(kind, [word]));
  return sieves.length > SIEVES_MAX ? [sieves.flat()] : sieves;
}

/**
 * What a text must have where it has all of the words: of those side by side as many as follow a
 * quick beginning, else the longest.
 */
function quickWords(kind: MatchKind, words: readonly Word[]): readonly Word[] {
  const starts = words.map(({ common }) => quickStart(common, SLOW_LETTERS));
  const quickness = words.map(({ common }, at) =>
    quickLetters(common.slice(starts[at]), SLOW_LETTERS)
  );
  const isRun = kind === "phrase" || kind === "prefix";
  const best = isRun ? quickness.indexOf(Math.max(...quickness)) : words.indexOf(longestOf(words));
  const [first, ...others] = words.slice(best);
  if (first === undefined) return words;
  const begun = { ...first, pattern: first.common.slice(starts[best]) };
  return isRun ? [begun, ...others] : [begun];
}

/**
 * Looks for words of ASCII of which some are families. Patterns of families are large, and each
 * thread compiles them for each file. So there is one of each, over texts in which only ASCII is a
 * letter. A short pattern before it tells most texts without one.
 */
function stemmedWords(build: Expressions, kind: MatchKind, words: readonly Word[]): TreeNode {
  const begun = words.map((word): Word =>
    word.isFamily ? { ...word, pattern: `${word.common}[a-z]*`, isFamily: false } : word
  );
  const loose = patternsOf(kind, begun).map((pattern) =>
    build.matches(build.text, `(?i)${pattern(ANY_NEIGHBOUR)}`)
  );
  const plain = build.call("match_plain", build.text);
  const isRun = kind === "phrase" || kind === "prefix";
  const text = isRun ? build.marked(plain, words, (word) => String.raw`\b${word}\b`) : plain;
  const exact = patternsOf(kind, isRun ? markedWords(kind, words, "") : words)
    .map((pattern) => build.matches(text, pattern(ANY_NEIGHBOUR)));
  return build.call(
    "match_stemmed_words",
    build.text,
    kind === "any" ? build.any(loose) : build.all([build.holdsLongest(words), ...loose]),
    kind === "any" ? build.any(exact) : build.all(exact),
  );
}

function otherWords(build: Expressions, kind: MatchKind, words: readonly Word[]): TreeNode {
  const ascii = words.filter(isOfAscii);
  const inAscii = kind === "any" && ascii.length > 0
    ? build.any(
      patternsOf(kind, ascii).map((pattern) =>
        build.matches(build.text, `(?i)${pattern(ANY_NEIGHBOUR)}`)
      ),
    )
    : build.call("match_nothing", build.text);
  const folded = build.call("match_folded", build.text);
  // Words of ASCII come first: they need no folding, which is slow.
  const [longest] = byLength(words.filter((word) => !isOfAscii(word)));
  const loose = kind === "any"
    ? build.matches(folded, words.map(({ common }) => common).join("|"))
    : build.all([
      ...byLength(ascii).map(({ common }) => build.matches(build.text, `(?i)${common}`)),
      build.call("contains", folded, build.constant(longest?.common ?? "")),
    ]);
  return build.call("match_other_words", build.text, inAscii, loose, build.cut(kind, words));
}

/**
 * One pattern of several families is so large that DuckDB falls back to a way of matching that
 * takes a hundred times as long. Where families must stand side by side, each word of a family gets
 * a mark before it, and marks are looked for. Marks are no letters, and are in no text of ASCII:
 * there is one for each family of a call.
 */
const FIRST_MARK = 0xe000;
const ANY_MARK = String.raw`[\x{e000}-\x{e0ff}]`;

function familiesOf(words: readonly Word[]): readonly string[] {
  return [...new Set(words.filter(({ isFamily }) => isFamily).map(({ pattern }) => pattern))];
}

function markOf(family: number): string {
  return String.fromCodePoint(FIRST_MARK + family);
}

/**
 * Words in the form that they have in a text with marks, with `space` around each. The beginning of
 * a word may belong to a word that has a mark.
 */
function markedWords(kind: MatchKind, words: readonly Word[], space: "" | " "): readonly Word[] {
  const families = familiesOf(words);
  return words.map((word, at) => {
    const { pattern, isFamily } = word;
    if (isFamily) {
      const mark = markOf(families.indexOf(pattern));
      return { ...word, pattern: `${mark}${space}[a-z]+${space}` };
    }
    const isBeginning = kind === "prefix" && at === words.length - 1;
    return {
      ...word,
      pattern: isBeginning ? `${ANY_MARK}?${space}${pattern}` : `${space}${pattern}${space}`,
    };
  });
}

/** What stands around a word, as patterns. */
interface Neighbours {
  /** What stands before the first word. */
  readonly before: string;
  /** A pattern of what is no letter of a word. */
  readonly beside: string;
  /** What follows the beginning of a word. */
  readonly next: string;
}

const ANY_NEIGHBOUR: Neighbours = {
  before: String.raw`(?:\A|[^A-Za-z0-9_])`,
  beside: "[^A-Za-z0-9_]",
  next: "",
};
/**
 * Neighbours in lower case, whatever else the text holds: a mark beyond ASCII changes the letter
 * before it.
 */
const ASCII_NEIGHBOUR: Neighbours = {
  before: String.raw`(?:\A|[\x00-/:-^\x60{-\x7f])`,
  beside: String.raw`[\x00-/:-^\x60{-\x7f]`,
  next: String.raw`(?:\z|[\x00-\x7f])`,
};

type Pattern = (neighbours: Neighbours) => string;

/**
 * The patterns that must all be found. A word has nothing in it that means something in a pattern.
 */
function patternsOf(kind: MatchKind, words: readonly Word[]): Pattern[] {
  const between = (inner: string): Pattern => ({ before, beside }) =>
    String.raw`${before}(?:${inner})(?:\z|${beside})`;
  if (kind === "all") return byLength(words).map(({ pattern }) => between(pattern));
  if (kind === "any") {
    const plain = words.filter(({ isFamily }) => !isFamily).map(({ pattern }) => pattern);
    const families = words.filter(({ isFamily }) => isFamily).map(({ pattern }) => pattern);
    return [...(plain.length === 0 ? [] : [plain.join("|")]), ...families].map(between);
  }
  const run = words.map(({ pattern }) => pattern);
  return [({ before, beside, next }) => {
    const end = kind === "prefix" ? next : String.raw`(?:\z|${beside})`;
    return String.raw`${before}${run.join(`${beside}+`)}${end}`;
  }];
}

/** Expressions at the place of a call. */
class Expressions {
  readonly text: TreeNode;

  constructor(private readonly node: TreeNode, text: TreeNode) {
    this.text = this.call("match_text", text);
  }

  get lower(): TreeNode {
    return this.call("lower", this.text);
  }

  call(name: string, ...children: readonly TreeNode[]): TreeNode {
    return { ...this.node, alias: "", function_name: name, children };
  }

  constant(value: string): TreeNode {
    const [, words = {}] = nodesAt(this.node, "children");
    return { ...words, alias: "", value: { ...nodeAt(words, "value"), value } };
  }

  matches(text: TreeNode, pattern: string): TreeNode {
    return this.call("regexp_matches", text, this.constant(pattern));
  }

  /** Whether the text has what all forms of its longest word have. */
  holdsLongest(words: readonly Word[]): TreeNode {
    const { common } = longestOf(words);
    return isFoldable(common)
      ? foldedContains(this.text, common)
      : this.call("contains", this.lower, this.constant(common));
  }

  /**
   * One condition after another: a condition is asked only of texts for which all before it hold.
   */
  all(conditions: readonly TreeNode[]): TreeNode {
    return this.#joined("match_both", conditions);
  }

  /**
   * One condition after another: a condition is asked only of texts for which none before it holds.
   */
  any(conditions: readonly TreeNode[]): TreeNode {
    return this.#joined("match_either", conditions);
  }

  /** The conditions are halved, because depth is bounded. */
  #joined(name: string, conditions: readonly TreeNode[]): TreeNode {
    const [first, ...others] = conditions;
    if (first !== undefined && others.length === 0) return first;
    const half = Math.ceil(conditions.length / 2);
    return this.call(
      name,
      this.#joined(name, conditions.slice(0, half)),
      this.#joined(name, conditions.slice(half)),
    );
  }

  /**
   * What `make` makes for the text, where it is rarely asked for. Patterns within a lambda are
   * compiled for a block of rows that asks for them, and others by each thread. Those of all
   * letters took a third of what a search of 10,000 rows does.
   */
  lazily(make: (rare: Expressions) => TreeNode): TreeNode {
    const one = columnNode("text_in_question");
    const list = this.call("list_value", this.text);
    const lambda = {
      ...{ class: "LAMBDA", type: "LAMBDA", alias: "", query_location: 0 },
      lhs: one,
      expr: make(new Expressions(this.node, one)),
    };
    // The dialect has a `list_transform` of its own.
    const made = {
      ...this.call("list_transform", list, lambda),
      schema: "main",
      catalog: "system",
    };
    return {
      ...{ class: "OPERATOR", type: "ARRAY_EXTRACT", alias: "", query_location: 0 },
      children: [made, integerNode(1)],
    };
  }

  /** Compares words, which is exact for every text. */
  cut(kind: MatchKind, words: readonly Word[]): TreeNode {
    if (kind === "all" || kind === "any") return this.#cutSet(kind, words);
    const end = kind === "prefix" ? "" : " ";
    if (familiesOf(words).length === 0) {
      const run = words.map(({ common }) => common).join(" ");
      return this.call("match_cut_run", this.text, this.constant(` ${run}${end}`));
    }
    // Each word has two spaces of its own, because both are part of what is found.
    const marked = this.marked(this.call("match_apart", this.text), words, (word) => ` ${word} `);
    const run = markedWords(kind, words, " ").map(({ pattern }) => pattern);
    return this.matches(marked, run.join(""));
  }

  /** The text with marks before what `find` makes of the words of families. */
  marked(text: TreeNode, words: readonly Word[], find: (words: string) => string): TreeNode {
    return familiesOf(words).reduce(
      (inner, pattern, family) =>
        this.call(
          "match_put",
          inner,
          this.constant(find(pattern)),
          this.constant(markOf(family)),
        ),
      text,
    );
  }

  #cutSet(kind: "all" | "any", words: readonly Word[]): TreeNode {
    const plain = words.filter(({ isFamily }) => !isFamily);
    const list = this.call("list_value", ...plain.map(({ common }) => this.constant(common)));
    const conditions = [
      ...(plain.length === 0 ? [] : [this.call(`match_cut_${kind}`, this.text, list)]),
      ...words.filter(({ isFamily }) => isFamily).map(({ pattern }) =>
        this.matches(this.call("match_spaced", this.text), ` (?:${pattern}) `)
      ),
    ];
    return kind === "all" ? this.all(conditions) : this.any(conditions);
  }
}
