/**
 * Prepared statements and cursors as a client writes them in SQL: PREPARE, EXECUTE, DECLARE, FETCH,
 * CLOSE. Here they are only read; `command_plans.ts` does them. Source:
 * https://www.postgresql.org/docs/current/sql-commands.html
 */

import { pgError } from "../sqlstate.ts";
import { type SqlToken, sqlTokens } from "../../../shared/engine/statement/sql_tokens.ts";
import { typeNamed } from "../types/type_names.ts";

export type SqlCommand =
  /** `oids`: of the types in parentheses. */
  | {
    readonly kind: "prepare";
    readonly name: string;
    readonly oids: readonly number[];
    readonly sql: string;
  }
  /** `values`: texts of constants, null for NULL. */
  | { readonly kind: "execute"; readonly name: string; readonly values: readonly (string | null)[] }
  | {
    readonly kind: "declare";
    readonly name: string;
    readonly isBinary: boolean;
    /** Whether it outlives its transaction. */
    readonly isHeld: boolean;
    readonly sql: string;
  }
  /** `rows`: Infinity for all that are left. */
  | { readonly kind: "fetch"; readonly name: string; readonly rows: number }
  /** Without a name: all cursors. */
  | { readonly kind: "close"; readonly name?: string };

const FIRST_WORD = /^(?:prepare|execute|declare|fetch|close)\b/i;

/**
 * Undefined: it is none of these. `statement` begins with its first word. Errors: SQLSTATE 42601,
 * 0A000 for what is not answered, 55000 for another direction than forward.
 */
export function parseSqlCommand(statement: string): SqlCommand | undefined {
  const [first] = FIRST_WORD.exec(statement) ?? [];
  if (first === undefined) return undefined;
  const words = new Words(statement, first);
  words.next();
  switch (first.toLowerCase()) {
    case "prepare":
      return prepareOf(words);
    case "execute":
      return executeOf(words);
    case "declare":
      return declareOf(words);
    case "fetch":
      return fetchOf(words);
    default:
      return closeOf(words);
  }
}

/** Words of a statement, one after the other. */
class Words {
  readonly #tokens: readonly SqlToken[];
  #at = 0;

  constructor(private readonly statement: string, private readonly command: string) {
    this.#tokens = sqlTokens(statement).filter(({ isBlank }) => !isBlank);
  }

  /** The next word in lower case; "" at the end. */
  get word(): string {
    return this.#tokens[this.#at]?.text.toLowerCase() ?? "";
  }

  next(): string {
    const word = this.word;
    this.#at += 1;
    return word;
  }

  /** Passes over the next word if it is one of these. */
  passes(...words: readonly string[]): boolean {
    if (!words.includes(this.word)) return false;
    this.#at += 1;
    return true;
  }

  expect(word: string): void {
    if (!this.passes(word)) throw this.malformed(`it lacks ${word.toUpperCase()}`);
  }

  end(): void {
    if (this.word !== "") throw this.malformed(`${JSON.stringify(this.word)} is not expected`);
  }

  /** A name as it is looked up: in lower case where it has no quotes. */
  name(): string {
    const { text = "" } = this.#tokens[this.#at] ?? {};
    this.#at += 1;
    if (/^"(?:[^"]|"")+"$/.test(text)) return text.slice(1, -1).replaceAll('""', '"');
    if (/^[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*$/.test(text)) return text.toLowerCase();
    throw this.malformed("it lacks a name");
  }

  /** What is left of the statement, as it was written. */
  rest(): string {
    const { at = this.statement.length } = this.#tokens[this.#at] ?? {};
    this.#at = this.#tokens.length;
    const rest = this.statement.slice(at);
    if (rest === "") throw this.malformed("it lacks a statement");
    return rest;
  }

  /** The texts between the commas of a list in parentheses; none where no list begins. */
  list(): string[] {
    if (!this.passes("(")) return [];
    const items: string[] = [];
    let from = this.#tokens[this.#at]?.at ?? this.statement.length;
    for (let depth = 0; this.word !== ""; this.#at += 1) {
      const { at = 0 } = this.#tokens[this.#at] ?? {};
      if (depth === 0 && (this.word === "," || this.word === ")")) {
        items.push(this.statement.slice(from, at).trim());
        from = at + 1;
        if (this.passes(")")) return items;
      } else if (this.word === "(") depth += 1;
      else if (this.word === ")") depth -= 1;
    }
    throw this.malformed("its list has no closing parenthesis");
  }

  malformed(why: string): Error {
    return pgError("42601", `Cannot parse the ${this.command.toUpperCase()}: ${why}`);
  }
}

function prepareOf(words: Words): SqlCommand {
  const name = words.name();
  const oids = words.list().map((type) => {
    const oid = typeNamed(type);
    if (oid !== undefined) return oid;
    throw pgError("42704", `Cannot prepare with the type ${JSON.stringify(type)}: it is unknown`);
  });
  words.expect("as");
  return { kind: "prepare", name, oids, sql: words.rest() };
}

function executeOf(words: Words): SqlCommand {
  const name = words.name();
  const values = words.list().map(constantOf);
  words.end();
  return { kind: "execute", name, values };
}

const QUOTED = /^(?:e)?'(?:[^']|'')*'$/i;
const DOLLAR_QUOTED = /^(\$\w*\$)([^]*)\1$/;
const NUMBER = /^[+-]?\s*(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
/** A type before or behind a text says how it is read, which the parameter's own type does here. */
const TYPED = /^[a-z][a-z0-9_ ]{0,62}(?=e?')/i;
const CAST = /\s*::\s*[a-z][\w "(),]{0,62}(?:\[\])?$/i;

/** The text of a constant. Parameters are values here, never parts of the statement. */
function constantOf(written: string, at: number): string | null {
  const bare = written.length > 200 || !CAST.test(written) ? written : written.replace(CAST, "");
  const text = QUOTED.test(bare) ? bare : bare.replace(TYPED, "").trim();
  if (/^null$/i.test(text)) return null;
  if (/^(?:true|false)$/i.test(text)) return text.toLowerCase();
  if (NUMBER.test(text)) return text.replace(/\s+/, "");
  const dollar = DOLLAR_QUOTED.exec(text);
  if (dollar !== null) return dollar[2] ?? "";
  if (QUOTED.test(text) && !(/^e/i.test(text) && text.includes("\\"))) {
    return text.slice(text.indexOf("'") + 1, -1).replaceAll("''", "'");
  }
  throw pgError("0A000", `Cannot read the value of $${at + 1} of the EXECUTE: it is no constant`, {
    hint: "Write a number, a quoted text, TRUE, FALSE or NULL.",
  });
}

function declareOf(words: Words): SqlCommand {
  const name = words.name();
  let isBinary = false;
  while (words.word !== "cursor") {
    if (words.passes("binary")) isBinary = true;
    else if (words.passes("no")) words.expect("scroll");
    else if (words.passes("scroll")) throw onlyForward();
    else if (!words.passes("insensitive", "asensitive")) throw words.malformed("it lacks CURSOR");
  }
  words.expect("cursor");
  const isHeld = words.passes("with");
  if (isHeld || words.passes("without")) words.expect("hold");
  words.expect("for");
  return { kind: "declare", name, isBinary, isHeld, sql: words.rest() };
}

function fetchOf(words: Words): SqlCommand {
  const rows = rowsOf(words);
  words.passes("from", "in");
  const name = words.name();
  words.end();
  return { kind: "fetch", name, rows };
}

const OTHER_WAYS = ["prior", "first", "last", "absolute", "relative", "backward", "-"];

function rowsOf(words: Words): number {
  if (words.passes(...OTHER_WAYS)) throw onlyForward();
  if (words.passes("next")) return 1;
  words.passes("forward");
  if (words.passes("all")) return Infinity;
  return /^\d{1,15}$/.test(words.word) ? Number(words.next()) : 1;
}

/** 55000: rows are sent once, in order. */
export function onlyForward(): Error {
  return pgError("55000", "Cannot go anywhere with a cursor but forward", {
    hint: "Write FETCH n, FETCH NEXT, FETCH FORWARD n or FETCH ALL.",
  });
}

function closeOf(words: Words): SqlCommand {
  if (words.passes("all")) {
    words.end();
    return { kind: "close" };
  }
  const name = words.name();
  words.end();
  return { kind: "close", name };
}
