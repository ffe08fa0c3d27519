/**
 * What is done for one statement of a PostgreSQL client, decided before anything is done. Most go
 * to the engine. What tools ask of a session and of the catalog is answered here or rewritten.
 */

import type { ParameterValue, QueryRequest } from "../../shared/engine/types.ts";
import type { QueryCaller } from "../query_caller.ts";

/** A value of a row that does not come from the engine; texts are as PostgreSQL writes them. */
export type PgCell = string | number | bigint | boolean | null;

/** Decides what statements mean. */
export interface PgPlanner {
  /**
   * Settings of a new session, with what its client gave at the start. Errors: `OperatingError`.
   */
  settings(startup: ReadonlyMap<string, string>): PgSettings;
  /** What is to be done, nothing of it done yet. Errors: `OperatingError`. */
  plan(text: string, session: PgSessionView): PgPlan | Promise<PgPlan>;
}

/** Settings of one session. */
export interface PgSettings {
  /** What SHOW tells; undefined: there is no such setting. */
  get(name: string): string | undefined;
  /** What a client is told of at the start and when it changes. */
  reported(): ReadonlyMap<string, string>;
  /** What of that has changed since this was asked last. */
  takeChanges(): ReadonlyMap<string, string>;
  /** `statement_timeout`, milliseconds; undefined: none was given. */
  readonly statementTimeoutMs: number | undefined;
  /** `application_name`; "" where there is none. */
  readonly applicationName: string;
}

/** What a plan may know and ask of the session that it is made for. */
export interface PgSessionView {
  /** Whose tables may be told of. */
  readonly caller: QueryCaller;
  /** Names that the client gave itself and its database. */
  readonly user: string;
  readonly database: string;
  readonly processId: number;
  readonly settings: PgSettings;
  readonly transaction: "idle" | "open" | "failed";
  begin(): void;
  /** Ends the transaction, and its portals but for cursors WITH HOLD. `isUndone`: those, too. */
  end(isUndone?: boolean): void;
  /** Forgets one prepared statement, or all; false: there is none of that name. */
  deallocate(name: string | undefined): boolean;
  /** Forgets prepared statements, portals and the transaction. Settings are the planner's. */
  discard(): void;
}

/** What is done for a statement. A prepared statement keeps its plan. */
export type PgPlan =
  /** The engine answers. */
  | {
    readonly kind: "engine";
    /** Perhaps another text than the client's. */
    readonly sql: string;
    /** Whether it names PostgreSQL's catalog, whose UINTEGER is PostgreSQL's `oid`. */
    readonly isOfCatalog?: boolean;
    /** What the engine is asked besides. */
    readonly besides?: Partial<QueryRequest>;
    /** The word of the CommandComplete; default `SELECT`. */
    readonly tag?: string;
  }
  /** Rows that are at hand, made when they are asked for. */
  | {
    readonly kind: "rows";
    readonly columns: readonly PgColumn[];
    rows(
      parameters: readonly ParameterValue[],
    ): Promise<readonly (readonly PgCell[])[]> | readonly (readonly PgCell[])[];
    /** The whole CommandComplete; default `SELECT` and the number of rows. */
    readonly tag?: string;
  }
  /** No rows. */
  | {
    readonly kind: "done";
    readonly tag: string;
    /** Whether it may be asked in a transaction that has failed. */
    readonly allowedInFailed?: boolean;
    apply(): PgDone | Promise<PgDone>;
  }
  /** There is nothing but blanks and comments. */
  | { readonly kind: "empty" };

/** A column of rows at hand. */
export interface PgColumn {
  readonly name: string;
  readonly oid: number;
  /** PostgreSQL's modifier of the type; default -1, none. */
  readonly typmod?: number;
}

/** What came of a statement without rows. */
export interface PgDone {
  /** Instead of the plan's. */
  readonly tag?: string;
  readonly notices?: readonly PgNotice[];
}

export interface PgNotice {
  readonly severity: "WARNING" | "NOTICE";
  readonly sqlstate: string;
  readonly message: string;
}
