/**
 * Words, and parts of words, that are looked for in the column of the words of each row, where data
 * files have one (`shared/derived/text/README.md`), in place of their texts.
 *
 * That is so where the statement reads the text for nothing else: who shows texts reads them
 * anyway. Rows of the WAL are looked for in texts, and those of files in which the words are rare.
 * Indexes find these.
 */

import { eachOf } from "../../base/each_of.ts";
import { memberOf, memberText } from "../../derived/text/row_words.ts";
import { isTold, isToldPart, RUN_START, TOLD_ROWS_MIN } from "../../derived/text/told_words.ts";
import { areKept } from "../../derived/text/tokenize.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { wordsColumn, wordsColumns } from "../../schema/row_words.ts";
import type { Column } from "../../schema/schema.ts";
import { quoteName, quoteText } from "../duckdb/statement_text.ts";
import type { TableAnswers } from "../fast_paths/table_answers.ts";
import { fastCondition } from "../fast_paths/word_conditions.ts";
import { type MatchCall, matchCallOf } from "../functions/match_calls.ts";
import { type PartCall, partCallOf } from "../functions/part_calls.ts";
import type { TableReference } from "../gate/gate.ts";
import type { Ordered } from "../order/order_statement.ts";
import { type AttributeTable, type ColumnUse, columnUses } from "../plan/attribute_scopes.ts";
import type { TablePlan } from "../plan/plan.ts";
import { isNamed } from "../plan/projection.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import { someNode, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { SparedUse } from "./spared_columns.ts";

/** Files that are asked at the same time. */
const FILES_AT_ONCE = 16;

/**
 * Returns what may take the place of conditions on texts that the statement reads for nothing else.
 * Errors: the connection's.
 */
export async function toldConditions(
  root: TreeNode,
  statement: Pick<Ordered, "references" | "tables">,
  { answers, cached }: { readonly answers: TableAnswers; readonly cached: CachedConnection },
): Promise<readonly SparedUse[]> {
  const told = await toldWords(soughtIn(root, statement), answers);
  return await Promise.all(told.map(async (one): Promise<SparedUse> => {
    const { use: { node, reach }, table, text, files } = one;
    const source = wordsColumn(text);
    const sql = soughtSql(one);
    return {
      ...{ node, reach, table, source, files },
      key: sql,
      type: "bool",
      cheap: {
        sql: `(${toldSql(one.condition, quoteName(source.name))})`,
        reads: [source.name],
        told: `words of ${text.name} are told by rows of`,
      },
      dear: {
        sql: `(${await fastCondition(sql, cached)})`,
        reads: [text.name],
        told: "looked for in texts of",
      },
    };
  }));
}

/** A condition on the words of a text. */
interface Sought {
  readonly use: TextUse;
  readonly table: TablePlan;
  readonly text: Column;
  readonly condition: Condition;
}

/**
 * Words, each a word or two side by side, of which a text has all or any; what a word begins with;
 * or parts of words.
 */
type Condition =
  | {
    readonly kind: "words";
    readonly call: MatchCall;
    readonly words: readonly (readonly string[])[];
  }
  | { readonly kind: "prefix"; readonly prefix: string }
  | { readonly kind: "part"; readonly call: PartCall };

interface Told extends Sought {
  /** The files whose rows tell of all its words. */
  readonly files: ReadonlySet<DataFile>;
}

type TextUse = ColumnUse<TextCall> & Pick<SparedUse, "reach">;

interface TextCall {
  readonly column: TreeNode;
  readonly condition: Condition;
}

/** The conditions on texts that the statement reads for nothing else. */
function soughtIn(
  root: TreeNode,
  { references, tables }: Pick<Ordered, "references" | "tables">,
): readonly Sought[] {
  const planOf = ({ table, hot }: TableReference) =>
    hot === undefined ? tables.find(({ name }) => name === table) : undefined;
  const places = references.flatMap((reference) => {
    const plan = planOf(reference);
    return plan === undefined ? [] : [{ node: reference.node, plan, texts: textsOf(plan) }];
  });
  const names = new Set(places.flatMap(({ texts }) => [...texts.keys()]));
  // LIKE and `contains` look at a collation.
  const isCollated = someNode(root, (node) => textAt(node, "class") === "COLLATE");
  const callOf = (node: TreeNode) => wordsCallOf(node) ?? (isCollated ? undefined : partOf(node));
  return [...names].flatMap((name) => {
    const own = places.map(({ node, plan, texts }): AttributeTable => ({
      node,
      columns: plan.schema.columns.map((column) => column.name),
      lookedInto: texts.has(name) ? name : undefined,
    }));
    const { uses } = columnUses(root, own, callOf);
    const sought = uses.flatMap((use): Sought[] => {
      const { reach, isOwn, isMatched, call: { condition } } = use;
      if (reach.kind !== "table" || !isOwn || isMatched) return [];
      const place = places.find(({ node }) => node === reach.node);
      const text = place?.texts.get(name);
      if (place === undefined || text === undefined) return [];
      return [{ use: { ...use, reach }, table: place.plan, text, condition }];
    });
    const besides = new Set(sought.map(({ use }) => use.call.column));
    return isNamed(name, root, besides) ? [] : sought;
  });
}

/** The columns of text of whose words some file may tell, by lower-cased name. */
function textsOf({ schema, stored, stemmed, made, files }: TablePlan): ReadonlyMap<string, Column> {
  const texts = schema.columns.filter((column) =>
    column.type === "string" && !stemmed.has(column.name) && !made.has(column.name) &&
    files.some((file) => mayTell(file, column))
  );
  const telling = wordsColumns(texts, stored.columns);
  return new Map([...telling.keys()].map((column) => [column.name.toLowerCase(), column]));
}

function mayTell({ rows, columnSizes }: DataFile, text: Column): boolean {
  return rows >= TOLD_ROWS_MIN && columnSizes.has(wordsColumn(text).id);
}

function wordsCallOf(node: TreeNode): TextCall | undefined {
  const call = matchCallOf(node);
  if (call === undefined || textAt(call.text, "class") !== "COLUMN_REF") return undefined;
  const { text: column, kind, words: [first, ...others] } = call;
  const prefix = kind === "prefix" && others.length === 0 ? first?.common : undefined;
  if (prefix !== undefined && isToldPart(prefix)) {
    return { column, condition: { kind: "prefix", prefix } };
  }
  const words = wordsOfCall(call);
  return words && { column, condition: { kind: "words", call, words } };
}

/** The words of a call; undefined: it is of more than which words a text has. */
function wordsOfCall({ kind, words }: MatchCall): readonly (readonly string[])[] | undefined {
  const tokens = words.map(({ common }) => common);
  // The condition is written anew, and must be cut into the same words.
  if (!areKept(tokens)) return undefined;
  const isRun = kind === "phrase" && tokens.length === 2;
  const isSet = kind !== "prefix" && (kind !== "phrase" || tokens.length === 1);
  if (tokens.length === 0 || !isRun && !isSet) return undefined;
  return isRun ? [tokens] : tokens.map((token) => [token]);
}

function partOf(node: TreeNode): TextCall | undefined {
  const call = partCallOf(node);
  return call === undefined || !call.parts.every(isToldPart)
    ? undefined
    : { column: call.column, condition: { kind: "part", call } };
}

/** What is sought, and the files that tell of it, where some do for each condition on a text. */
async function toldWords(
  sought: readonly Sought[],
  answers: TableAnswers,
): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (const [table, ofTable] of Map.groupBy(sought, (one) => one.table)) {
    for (const [text, ofText] of Map.groupBy(ofTable, (one) => one.text)) {
      const own = ofText.map((one) => ({ ...one, files: new Set<DataFile>() }));
      await findFiles(own, { table, text, answers });
      // Else the text is read, and may be read for all of them.
      if (own.every(({ files }) => files.size > 0)) told.push(...own);
    }
  }
  return told;
}

/** Adds the files whose rows tell of it to each condition on a text. */
async function findFiles(
  sought: readonly (Sought & { readonly files: Set<DataFile> })[],
  { table: { version, parts }, text, answers }: {
    readonly table: TablePlan;
    readonly text: Column;
    readonly answers: TableAnswers;
  },
): Promise<void> {
  const cubes = answers.table(version?.uuid ?? "");
  const read = new Set(parts.flatMap((part) => part.origin === "file" ? [part.file] : []));
  const asked = [...read].filter((file) => mayTell(file, text));
  await eachOf(asked, { atOnce: FILES_AT_ONCE, signal: undefined }, async (file) => {
    const words = await cubes.toldWords(file, text);
    if (words === undefined) return;
    for (const { condition, files } of sought) {
      const isTold = words === "all" && isOfAll(condition) ||
        condition.kind === "words" &&
          areCounted(await cubes.countedWords(file, text), condition.words);
      if (isTold) files.add(file);
    }
  });
}

/** Whether rows tell of it that tell of all words. */
function isOfAll(condition: Condition): boolean {
  return condition.kind !== "words" ||
    condition.words.every((words) => words.length === 1 && words.every(isTold));
}

function areCounted(counted: string, words: readonly (readonly string[])[]): boolean {
  return words.every((own) => own.every(isTold) && counted.includes(`|${own.join(" ")}|`));
}

/** A condition over the column of the table's files. */
function soughtSql({ condition, text }: Sought): string {
  const column = quoteName(text.name);
  switch (condition.kind) {
    case "prefix":
      return `match_prefix(${column}, ${quoteText(condition.prefix)})`;
    case "part":
      return partSql(condition.call, column);
    case "words": {
      const { kind, words } = condition.call;
      const name = kind === "all" ? "match_terms" : kind === "any" ? "match_any" : "match_phrase";
      return `${name}(${column}, ${quoteText(words.map(({ common }) => common).join(" "))})`;
    }
  }
}

function partSql({ parts, matching, isNegated }: PartCall, column: string): string {
  const found = matching === "regex folded"
    ? `regexp_matches(${column}, ${quoteText(parts.join("|"))}, 'i')`
    : anyOf(
      parts,
      (part) =>
        matching === "folded"
          ? `${column} ILIKE ${quoteText(`%${part}%`)}`
          : `contains(${column}, ${quoteText(part)})`,
    );
  return isNegated ? `NOT (${found})` : found;
}

/** A condition over the column of the words of each row. */
function toldSql(condition: Condition, column: string): string {
  const folded = `lower(${column})`;
  const holds = (words: string) => (text: string) => `contains(${words}, ${quoteText(text)})`;
  switch (condition.kind) {
    case "prefix":
      return anyOf([`|${condition.prefix}`, RUN_START + condition.prefix], holds(folded));
    case "part": {
      const { parts, matching, isNegated } = condition.call;
      const found = anyOf(parts, holds(matching === "exact" ? column : folded));
      return isNegated ? `NOT (${found})` : found;
    }
    case "words": {
      const members = condition.words.map((words) => memberText(memberOf(words)));
      return condition.call.kind === "any"
        ? anyOf(members, holds(folded))
        : members.map(holds(folded)).join(" AND ");
    }
  }
}

function anyOf(texts: readonly string[], sqlOf: (text: string) => string): string {
  return texts.map(sqlOf).join(" OR ");
}
