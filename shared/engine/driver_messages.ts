/**
 * What a thread does that has a SQL engine of its own, as calls: a request names one with its arguments, and its reply has
 * the same number. Connections are numbers, which are never used again.
 */

import type { DescribedColumn, DriverOptions, FaultKind, Relation } from "./driver.ts";
import type { RunProfile, RunStatement } from "./driver.ts";
import type { RunProgress } from "./types.ts";

export interface DriverCalls {
  open(options: DriverOptions): Promise<void>;
  connect(): Promise<number>;
  serialize(connection: number, sql: string): Promise<string>;
  deserialize(connection: number, tree: string): Promise<string>;
  texts(connection: number, sql: string): Promise<(string | null)[][]>;
  describe(
    connection: number,
    sql: string,
    relations: readonly Relation[],
  ): Promise<readonly DescribedColumn[]>;
  explain(connection: number, sql: string): Promise<string>;
  /** Its rows are asked for by `next`, until there are no more or `end`. */
  begin(connection: number, statement: RunStatement): Promise<void>;
  next(connection: number): Promise<RowsMessage>;
  end(connection: number): Promise<void>;
  progress(connection: number): Promise<RunProgress>;
  profile(connection: number): Promise<RunProfile | undefined>;
  interrupt(connection: number): Promise<void>;
  release(connection: number): Promise<void>;
  close(): Promise<void>;
}

export interface RowsMessage {
  /** Undefined: there are no more. */
  readonly texts?: {
    readonly bytes: Uint8Array<ArrayBuffer>;
    /** Where the text of each row ends in `bytes`. */
    readonly ends: Uint32Array<ArrayBuffer>;
  };
  readonly progress: RunProgress;
}

export type CallName = keyof DriverCalls;

export interface CallRequest {
  readonly id: number;
  readonly name: CallName;
  readonly args: readonly unknown[];
}

export interface CallReply {
  readonly id: number;
  readonly value?: unknown;
  /** `kind` is that of an `EngineFault`; other errors have none. */
  readonly failure?: { readonly message: string; readonly kind?: FaultKind };
}
