/**
 * What the page SQL shows, and how it comes about. The address has the text that ran last, so a
 * copied link runs the same; what is being typed is kept in the tab.
 */

import { batch, signal } from "@preact/signals";
import { RequestError } from "../api/request.ts";
import { noteQuery } from "../frame/router.ts";
import { LocalError, runLocally } from "../local/local_tables.ts";
import type { LocalAnswer } from "../local/local_engine.ts";
import { asksBefore, type CostAnswer, costBound, costQuestion } from "./cost_question.ts";
import { type ErrorSpan, errorSpan } from "./error_place.ts";
import { awaitJob } from "./job_watch.ts";
import { askCost, askPlan, type Cost, type JobRecord } from "./sql_requests.ts";
import { runStatement, type SqlAnswer, submitJob } from "./sql_requests.ts";
import { splitStatements, type SqlStatement, tablesOfSchema } from "./sql_tokens.ts";
import { noteStatement } from "./statement_history.ts";

/** Where a statement ran. */
export type Where = "server" | "browser";

export type Outcome =
  | { readonly kind: "rows"; readonly answer: SqlAnswer | LocalAnswer }
  | { readonly kind: "plan"; readonly plan: string; readonly cost: Cost }
  | { readonly kind: "cost"; readonly cost: Cost }
  | { readonly kind: "job"; readonly job: JobRecord }
  | { readonly kind: "failed"; readonly message: string; readonly span: ErrorSpan | undefined }
  | { readonly kind: "stopped" };

/** A statement that was run; `outcome` is undefined while it runs. */
export interface Run {
  readonly id: number;
  readonly statement: SqlStatement;
  readonly where: Where;
  /** The local tables that it reads. */
  readonly tables: readonly string[];
  readonly outcome: Outcome | undefined;
  /** Milliseconds until the outcome, as the page saw them. */
  readonly tookMs: number;
}

/** What is asked of a statement. */
export type Wish = "rows" | "cost" | "plan" | "job";

/** Rows that the page takes of a result; downloads and kept tables have more. */
export const ROWS_MAX = 10_000;
/** A longer text would make an address that proxies refuse. */
const ADDRESS_LETTERS_MAX = 6_000;
const DRAFT_KEY = "svc.sql.draft";

/** What is being typed. */
export const draft = signal(sessionStorage.getItem(DRAFT_KEY) ?? "");
export const runs = signal<readonly Run[]>([]);
/** Which of `runs` is shown. */
export const shownRun = signal(0);
export const isRunning = signal(false);
/** The rows that are shown, dimmed, until the next run has some. */
export const staleRun = signal<Run | undefined>(undefined);

let running = new AbortController();
let lastId = 0;

draft.subscribe((text) => {
  try {
    sessionStorage.setItem(DRAFT_KEY, text);
  } catch {
    // The text is too long for the browser's store: a reload would lose it, and nothing else.
  }
});

/** Shows what the address asks, when the page opens and when the user goes back. */
export function readAddress(asked: URLSearchParams): void {
  const query = asked.get("query");
  if (query === null) return;
  draft.value = query;
  runText(query, { isNew: false });
}

/** Runs the statements of `text` one after another; `offset` is where it begins in the draft. */
export async function runText(
  text: string,
  { offset = 0, wish = "rows", isNew = true }: {
    readonly offset?: number;
    readonly wish?: Wish;
    readonly isNew?: boolean;
  } = {},
): Promise<void> {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  const statements = splitStatements(text);
  if (statements.length === 0) return;
  if (isNew) noteText(draft.peek());
  batch(() => {
    const shown = runs.value[shownRun.value];
    if (shown?.outcome?.kind === "rows") staleRun.value = shown;
    runs.value = [];
    shownRun.value = 0;
    isRunning.value = true;
  });
  for (const { sql, from } of statements) {
    const run = await runOne({ sql, from: from + offset }, { wish, signal });
    if (running.signal !== signal) return;
    if (run.outcome?.kind === "failed" || run.outcome?.kind === "stopped") break;
  }
  batch(() => {
    isRunning.value = false;
    staleRun.value = undefined;
  });
}

/** Stops what runs; the server stops, too. */
export function stop(): void {
  running.abort();
}

function noteText(text: string): void {
  if (text.length <= ADDRESS_LETTERS_MAX) noteQuery(new URLSearchParams({ query: text }));
}

async function runOne(
  statement: SqlStatement,
  { wish, signal }: { readonly wish: Wish; readonly signal: AbortSignal },
): Promise<Run> {
  const tables = [...tablesOfSchema(statement.sql, "local")];
  const where = tables.length > 0 ? "browser" : "server";
  const begunMs = performance.now();
  lastId += 1;
  const begun: Run = { id: lastId, statement, where, tables, outcome: undefined, tookMs: 0 };
  runs.value = [...runs.value, begun];
  shownRun.value = runs.value.length - 1;
  const show = (outcome: Outcome): Run => {
    const run = { ...begun, outcome, tookMs: performance.now() - begunMs };
    if (running.signal === signal) {
      runs.value = runs.value.map((one) => one.id === run.id ? run : one);
    }
    return run;
  };
  const outcome =
    await (where === "browser"
      ? outcomeHere(statement.sql, { tables, wish, signal })
      : outcomeThere(statement.sql, { wish, signal, show })).catch((error) =>
        failureOf(error, statement.sql, signal)
      );
  const run = show(outcome);
  if (wish === "rows" && outcome.kind !== "stopped") noteRun(run);
  return run;
}

async function outcomeThere(
  sql: string,
  { wish, signal, show }: {
    readonly wish: Wish;
    readonly signal: AbortSignal;
    readonly show: (outcome: Outcome) => void;
  },
): Promise<Outcome> {
  if (wish === "plan") return { kind: "plan", ...await askPlan(sql, { signal }) };
  if (wish === "cost") return { kind: "cost", cost: await askCost(sql, { signal }) };
  const answered = wish === "job" ? "job" : await askFirst(sql, signal);
  if (answered === "no") return { kind: "stopped" };
  if (answered === "run") {
    return { kind: "rows", answer: await runStatement(sql, { rowsMax: ROWS_MAX, signal }) };
  }
  const id = await submitJob(sql, { signal });
  return await awaitJob(id, { signal, onChange: (job) => show({ kind: "job", job }) });
}

/** Asks the user where the statement costs more than the bound. */
async function askFirst(sql: string, signal: AbortSignal): Promise<CostAnswer> {
  const bound = costBound.peek();
  if (bound === Infinity) return "run";
  const cost = await askCost(sql, { signal });
  return asksBefore(cost, bound) ? await costQuestion(cost, signal) : "run";
}

async function outcomeHere(
  sql: string,
  { tables, wish, signal }: {
    readonly tables: readonly string[];
    readonly wish: Wish;
    readonly signal: AbortSignal;
  },
): Promise<Outcome> {
  if (wish === "rows") {
    const answer = await runLocally(sql, { tables, rowsMax: ROWS_MAX, signal });
    return { kind: "rows", answer };
  }
  throw new LocalError(
    "This statement reads local tables, so it runs in this browser: it costs the server nothing, " +
      "and cannot be a batch job. Run it.",
  );
}

function failureOf(error: unknown, sql: string, signal: AbortSignal): Outcome {
  if (signal.aborted) return { kind: "stopped" };
  if (!(error instanceof RequestError || error instanceof LocalError)) throw error;
  // A statement that runs here stands one line lower.
  const message = error instanceof LocalError ? oneLineUp(error.message) : error.message;
  return { kind: "failed", message, span: errorSpan(message, sql) };
}

function oneLineUp(message: string): string {
  return message.replace(
    /^( *)LINE (\d+):/m,
    (_, blanks: string, line: string) => `${blanks}LINE ${Number(line) - 1}:`,
  );
}

function noteRun({ statement, where, outcome, tookMs }: Run): void {
  noteStatement({
    sql: statement.sql,
    atMs: Date.now(),
    tookMs: Math.round(tookMs),
    rows: outcome?.kind === "rows" ? outcome.answer.rows.length : undefined,
    where,
  });
}
