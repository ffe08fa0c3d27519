/**
 * The phase that has words looked for in the column of the words of each row, where data files have
 * one (`shared/derived/text/README.md`), in place of their texts. It takes a fiftieth of the time.
 * Changes the tree.
 *
 * It does so where the statement reads the text for nothing else: who shows texts reads them
 * anyway. Each part of a scan looks where it can (`plan/made_columns.ts`). Rows of the WAL are
 * looked for in texts, and those of files in which the words are rare. Indexes find these.
 */

import { untilAborted } from "../../base/until_aborted.ts";
import { memberText } from "../../derived/text/row_words.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { wordsColumn } from "../../schema/row_words.ts";
import type { Column } from "../../schema/schema.ts";
import { quoteName, quoteText } from "../duckdb/statement_text.ts";
import type { SoughtWords, TableAnswers } from "../fast_paths/table_answers.ts";
import { fastCondition } from "../fast_paths/word_conditions.ts";
import { keepNames } from "../functions/exchange_calls.ts";
import { type MatchCall, matchCallOf } from "../functions/match_calls.ts";
import type { TableReference } from "../gate/gate.ts";
import type { Ordered } from "../order/order_statement.ts";
import { type AttributeTable, type ColumnUse, columnUses } from "../plan/attribute_scopes.ts";
import type { MadeWords } from "../plan/made_columns.ts";
import { isCompleteIn, partRows, rowsOfParts, type TablePlan } from "../plan/plan.ts";
import { namedColumns, projectedOf } from "../plan/projection.ts";
import { columnsShape } from "../statement/columns_shape.ts";
import { textAsItIs } from "../statement/parse.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import {
  replaceNode,
  someNode,
  textAt,
  type TreeNode,
  withRoot,
} from "../statement/syntax_tree.ts";
import { columnNode } from "../statement/tree_nodes.ts";
import type { Deadline } from "../turns/deadline.ts";

/** In a smaller file looking up which words rows tell of takes as long as to look for them. */
const ROWS_MIN = 2_048;
/** Files that are asked at the same time. */
const FILES_AT_ONCE = 16;
/** One row in so many may be looked through, and a statement is priced as if none were. */
const LOOKED_SHARE_MIN = 9;
/** Ids of columns that are made of no column of the table. */
const FIRST_ID = -1_000;

interface RowWordsDeps {
  readonly cached: CachedConnection;
  readonly deps: { readonly answers: TableAnswers };
  readonly deadline: Deadline;
  /** Whether the statement may name other columns than it was sent with. */
  readonly usesPromoted: boolean;
}

/** Reads summaries of data files. Errors: the deadline's, the connection's. */
export async function rowWordsStatement(ordered: Ordered, given: RowWordsDeps): Promise<Ordered> {
  const { path, wanted, statement: { root, document } } = ordered;
  // Rows in order of time are found by their own means.
  const isInOrder = wanted?.direction !== undefined;
  if (!given.usesPromoted || path.kind !== "scan" || isInOrder) return ordered;
  const sought = soughtIn(root, ordered);
  if (sought.length === 0) return ordered;
  const told = await untilAborted(toldWords(sought, given.deps), given.deadline.signal);
  if (told.length === 0) return ordered;
  const nodes = new Set(told.map(({ use }) => use.node));
  await keepNames(root, {
    textOf: (select) => textAsItIs(given.cached, withRoot(document, select)),
    wants: (item) => someNode(item, (node) => nodes.has(node)),
  });
  const changed = new WordedTables(ordered.tables);
  for (const one of told) {
    const condition = await fastCondition(callSql(one), given.cached);
    const name = changed.add(one, condition);
    const { node, reach } = one.use;
    const { alias, query_location } = node;
    replaceNode(node, { ...columnNode(reach.qualifier, name), alias, query_location });
  }
  return {
    ...ordered,
    tables: changed.tables(root),
    isPromoted: true,
    promotedShape: columnsShape(document, ordered.bounds),
  };
}

/** A condition on the words of a text. */
interface Sought {
  readonly use: ColumnUse<TextCall>;
  readonly table: TablePlan;
  readonly text: Column;
  /** What it is of: all of these, or any, each a word or two side by side. */
  readonly words: SoughtWords["words"];
}

interface Told extends Sought {
  /** The files whose rows tell of all its words. */
  readonly files: ReadonlySet<DataFile>;
}

interface TextCall {
  readonly column: TreeNode;
  readonly call: MatchCall;
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
  return [...names].flatMap((name) => {
    const own = places.map(({ node, plan, texts }): AttributeTable => ({
      node,
      columns: plan.schema.columns.map((column) => column.name),
      attributes: texts.has(name) ? name : undefined,
    }));
    const { uses } = columnUses(root, own, textCallOf);
    const sought = uses.flatMap((use): Sought[] => {
      const { reach, isMatched, call: { call } } = use;
      const place = reach.kind === "table"
        ? places.find(({ node }) => node === reach.node)
        : undefined;
      const text = place?.texts.get(name);
      const words = wordsOfCall(call);
      if (place === undefined || text === undefined || words === undefined || isMatched) return [];
      return [{ use, table: place.plan, text, words }];
    });
    const besides = new Set(sought.map(({ use }) => use.call.column));
    return namedColumns(root, besides)?.has(name) === false ? sought : [];
  });
}

/** The columns of text of whose words some file may tell, by lower-cased name. */
function textsOf({ schema, stemmed, made, files }: TablePlan): ReadonlyMap<string, Column> {
  const texts = schema.columns.filter((column) =>
    column.type === "string" && !stemmed.has(column.name) && !made.has(column.name) &&
    files.some((file) => mayTell(file, column))
  );
  return new Map(texts.map((column) => [column.name.toLowerCase(), column]));
}

function mayTell({ rows, columnSizes }: DataFile, text: Column): boolean {
  return rows >= ROWS_MIN && columnSizes.has(wordsColumn(text).id);
}

function textCallOf(node: TreeNode): TextCall | undefined {
  const call = matchCallOf(node);
  return call === undefined || textAt(call.text, "class") !== "COLUMN_REF"
    ? undefined
    : { column: call.text, call };
}

/** The words of a call; undefined: it is of more than which words a text has. */
function wordsOfCall({ kind, words }: MatchCall): SoughtWords["words"] | undefined {
  const tokens = words.map(({ common }) => common);
  const isRun = kind === "phrase" && tokens.length === 2;
  const isSet = kind !== "prefix" && (kind !== "phrase" || tokens.length === 1);
  if (tokens.length === 0 || !isRun && !isSet) return undefined;
  return isRun ? [tokens] : tokens.map((token) => [token]);
}

/** What is sought, where a file tells of it. */
async function toldWords(
  sought: readonly Sought[],
  { answers }: RowWordsDeps["deps"],
): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (const one of sought) {
    const { table, text, words } = one;
    const cubes = answers.table(table.version?.uuid ?? "");
    const read = new Set(
      table.parts.flatMap((part) => part.origin === "file" ? [part.file] : []),
    );
    const asked = [...read].filter((file) => mayTell(file, text));
    const files = new Set<DataFile>();
    for (let at = 0; at < asked.length; at += FILES_AT_ONCE) {
      await Promise.all(
        asked.slice(at, at + FILES_AT_ONCE).map(async (file) => {
          if (await cubes.tellsWords(file, { text: text.id, words })) files.add(file);
        }),
      );
    }
    told.push({ ...one, files });
  }
  // A text that is read for one condition may be read for all.
  const isRead = ({ table, text }: Told) =>
    told.some((one) => one.table === table && one.text.id === text.id && one.files.size === 0);
  return told.filter((one) => !isRead(one));
}

/** The call over the column of the table's files. */
function callSql({ use: { call: { call } }, text }: Sought): string {
  const name = { all: "match_terms", any: "match_any", phrase: "match_phrase", prefix: "" };
  const words = call.words.map(({ common }) => common).join(" ");
  return `${name[call.kind]}(${quoteName(text.name)}, ${quoteText(words)})`;
}

/** The tables, with a column for each condition. */
class WordedTables {
  readonly #tables: readonly TablePlan[];
  readonly #added = new Map<TablePlan, { column: Column; made: MadeWords; told: Told }[]>();

  constructor(tables: readonly TablePlan[]) {
    this.#tables = tables;
  }

  /** The name of the column for a condition; `condition` is it over the text. */
  add(told: Told, condition: string): string {
    const { table, text, words, use } = told;
    const added = this.#added.get(table) ?? [];
    this.#added.set(table, added);
    // An object of its own: files tell of some words and not of others.
    const source = { ...wordsColumn(text) };
    const parts = words.map((own) =>
      `contains(${quoteName(source.name)}, ${quoteText(memberText(own))})`
    );
    const name = freeName(table, added.length + 1);
    added.push({
      column: { id: FIRST_ID - added.length, name, type: "bool", required: false },
      made: {
        form: "words",
        sources: [source],
        told: `(${parts.join(use.call.call.kind === "any" ? " OR " : " AND ")})`,
        text: text.name,
        sought: `(${condition})`,
      },
      told,
    });
    return name;
  }

  tables(root: TreeNode): readonly TablePlan[] {
    const named = namedColumns(root);
    return this.#tables.map((table) => {
      const added = this.#added.get(table) ?? [];
      if (added.length === 0) return table;
      const { schema, stored, made, isComplete } = table;
      const filesOf = new Map(added.map(({ made, told }) => [made.sources[0], told.files]));
      const sources = new Map(added.map(({ made: { sources: [source] } }) => [source.id, source]));
      const own: TablePlan = {
        ...table,
        schema: { ...schema, columns: [...schema.columns, ...added.map(({ column }) => column)] },
        stored: { ...stored, columns: [...stored.columns, ...sources.values()] },
        made: new Map([...made, ...added.map(({ column, made }) => [column.name, made] as const)]),
        isComplete: (file, column) => filesOf.get(column)?.has(file) ?? isComplete(file, column),
      };
      return { ...own, projected: projectedOf(own, named) };
    });
  }
}

/** A name that no column of the table has. */
function freeName({ schema }: TablePlan, number: number): string {
  const taken = new Set(schema.columns.map(({ name }) => name.toLowerCase()));
  let name = `words:${number}`;
  while (taken.has(name)) name = `words:${name}`;
  return name;
}

/** Whether the texts of a good part of the rows have to be looked through for words. */
export function looksThroughTexts(table: TablePlan): boolean {
  const sources = [...table.made.values()].flatMap((made) =>
    made.form === "words" ? made.sources : []
  );
  const looked = table.parts
    .filter((part) => sources.some((source) => !isCompleteIn(table, part, source)))
    .reduce((sum, part) => sum + partRows(part), 0);
  return LOOKED_SHARE_MIN * looked > rowsOfParts(table.parts);
}
