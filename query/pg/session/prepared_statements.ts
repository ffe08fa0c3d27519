/** Prepared statements and portals of one session, within bounds. */

import type { ByteHold } from "../../../shared/base/byte_budget.ts";
import type { Parameters, ResultColumn } from "../../../shared/engine/types.ts";
import { PORTALS_MAX, STATEMENT_BYTES_MIN, STATEMENTS_MAX } from "../limits.ts";
import type { PgCell, PgPlan } from "../pg_plan.ts";
import { pgError } from "../sqlstate.ts";
import type { Format } from "../types/formats.ts";
import type { CopyOptions } from "./copy_statement.ts";
import type { EngineAnswer } from "./engine_answer.ts";

/** What a session does for a statement: what the planner says, COPY, or what is for a cursor. */
export type SessionPlan =
  | PgPlan
  | {
    readonly kind: "copy";
    readonly inner: Extract<PgPlan, { readonly kind: "engine" }>;
    readonly options: CopyOptions;
  }
  /** A portal of that name begins; `sql`: the statement that `inner` is the plan of. */
  | {
    readonly kind: "declare";
    readonly inner: QueryPlan;
    readonly name: string;
    readonly isBinary: boolean;
    readonly isHeld: boolean;
    readonly sql: string;
  }
  /** The next rows of the portal of that name. */
  | { readonly kind: "fetch"; readonly name: string; readonly rows: number };

/** A plan that gives rows. */
export type QueryPlan = Extract<PgPlan, { readonly kind: "engine" | "rows" }>;

/** A statement that was parsed. */
export interface Prepared {
  /** What was sent, to point into. */
  readonly text: string;
  readonly plan: SessionPlan;
  /** Types that the client gave; 0: it left one open. */
  readonly given: readonly number[];
  /** How many numbered parameters its text has. */
  readonly needed: number;
  /** The values of its parameters, which EXECUTE has given: it has none for a Bind. */
  readonly fixed?: Parameters;
  /** Types of all parameters, once they were asked for. */
  oids?: readonly number[];
  /** What it answers, as the client was told. */
  columns?: readonly ResultColumn[];
}

/** A statement with values. */
export interface Portal {
  readonly statement: Prepared;
  readonly parameters: Parameters;
  /** None: text; one: of all columns. */
  readonly formats: readonly Format[];
  answer?: EngineAnswer;
  /** Rows at hand that were not sent yet. */
  rows?: (readonly PgCell[])[];
  isDone?: boolean;
  /** The client was told of its columns, and not just of the statement's. */
  isDescribed?: boolean;
  /** A row of it was sent. */
  isBegun?: boolean;
  /** Rows that a FETCH is still to send. */
  left?: number;
  /** It has no name, so no FETCH can ask for its rows in other formats. */
  readonly isUnnamed?: boolean;
  /** DECLARE made it. */
  readonly isCursor?: boolean;
  /** WITH HOLD: `new` in the transaction that made it, `kept` once that has ended well. */
  held?: "new" | "kept";
}

interface Held<T> {
  readonly value: T;
  readonly bytes: number;
}

/** Things of a session by name; "" is the unnamed one. */
class Named<T> {
  /** Absent while there is none: an idle session would hold an empty map. */
  #all: Map<string, Held<T>> | undefined;

  constructor(
    private readonly hold: ByteHold,
    private readonly options: { readonly what: string; readonly max: number },
  ) {}

  get(name: string): T | undefined {
    return this.#all?.get(name)?.value;
  }

  /** What there is now: it may be deleted meanwhile. */
  values(): readonly T[] {
    return this.#all === undefined ? [] : [...this.#all.values()].map(({ value }) => value);
  }

  /** Errors: SQLSTATE 54000 past the bound; those of the server's memory. */
  set(name: string, value: T, bytes: number): void {
    this.delete(name);
    const { what, max } = this.options;
    const all = this.#all ??= new Map();
    if (all.size >= max) {
      throw pgError("54000", `Cannot keep more than ${max} ${what}s of a session`, {
        hint: `Close a ${what} that is not needed.`,
      });
    }
    const held = bytes + 2 * name.length + STATEMENT_BYTES_MIN;
    this.hold.grow(held);
    all.set(name, { value, bytes: held });
  }

  delete(name: string): T | undefined {
    const held = this.#all?.get(name);
    if (held === undefined) return undefined;
    this.#all?.delete(name);
    if (this.#all?.size === 0) this.#all = undefined;
    this.hold.shrink(held.bytes);
    return held.value;
  }

  names(): string[] {
    return this.#all === undefined ? [] : [...this.#all.keys()];
  }
}

const STATEMENTS = { what: "prepared statement", max: STATEMENTS_MAX };
const PORTALS = { what: "portal", max: PORTALS_MAX };

/** What one session keeps. Disposing it gives its memory back; answers are its session's. */
export class SessionStatements implements Disposable {
  readonly statements: Named<Prepared>;
  readonly portals: Named<Portal>;
  readonly #hold: ByteHold;

  /** `hold`: what its statements and portals are charged to. */
  constructor(hold: ByteHold) {
    this.#hold = hold;
    this.statements = new Named(this.#hold, STATEMENTS);
    this.portals = new Named(this.#hold, PORTALS);
  }

  /** Errors: SQLSTATE 42P05. */
  addStatement(name: string, prepared: Prepared): void {
    if (name !== "" && this.statements.get(name) !== undefined) {
      throw pgError("42P05", `Cannot prepare the statement ${JSON.stringify(name)}: there is one`);
    }
    this.statements.set(name, prepared, 2 * prepared.text.length + 8 * prepared.given.length);
  }

  /** Errors: SQLSTATE 26000. */
  statement(name: string): Prepared {
    const found = this.statements.get(name);
    if (found !== undefined) return found;
    throw pgError("26000", `Cannot find the prepared statement ${JSON.stringify(name)}`);
  }

  /** Errors: SQLSTATE 34000. */
  portal(name: string): Portal {
    const found = this.portals.get(name);
    if (found !== undefined) return found;
    throw pgError("34000", `Cannot find the portal ${JSON.stringify(name)}`);
  }

  [Symbol.dispose](): void {
    this.#hold[Symbol.dispose]();
  }
}
