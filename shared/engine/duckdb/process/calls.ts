/**
 * What crosses between the server and a DuckDB in a process of its own (`README.md` of the engine,
 * "Walls").
 *
 * A frame is a header, JSON text in UTF-8, and a body, bytes: first the lengths of both (4 bytes
 * each, little-endian), then the two. A request names a call; its response has the request's
 * number. Connections are numbers from 0, which mean the same in each process. The server lends
 * each to one statement at a time.
 */

import type { DescribedColumn, DriverOptions, FaultKind, Relation } from "../driver.ts";
import type { EngineConnection, RunProfile, RunStatement } from "../driver.ts";
import type { RunProgress } from "../../types.ts";

/** Calls with a response. `connection` is a connection's number. */
export interface EngineCalls {
  open(options: DriverOptions): Promise<void>;
  serialize(connection: number, sql: string): Promise<string>;
  deserialize(connection: number, tree: string): Promise<string>;
  texts(connection: number, sql: string): Promise<(string | null)[][]>;
  describe(
    connection: number,
    sql: string,
    relations: readonly Relation[],
  ): Promise<readonly DescribedColumn[]>;
  parameterTypes(
    connection: number,
    sql: string,
    names: readonly string[],
    relations: readonly Relation[],
  ): ReturnType<EngineConnection["parameterTypes"]>;
  explain(connection: number, sql: string): Promise<string>;
  /**
   * Runs a statement. Its chunks come as responses with `rows`, up to `CHUNKS_AHEAD` of them
   * unasked. Its last response is its end.
   */
  rows(connection: number, statement: RunStatement): Promise<RunEnd>;
  progress(connection: number): Promise<RunProgress>;
  release(connection: number): Promise<void>;
  close(): Promise<void>;
}

/** Calls without a response. */
export interface EngineNotes {
  /** Asks for `CHUNKS_ASKED` more chunks of what `rows` runs. */
  more(connection: number): void;
  /** Says that no more chunks are wanted: `rows` ends. */
  enough(connection: number): void;
  interrupt(connection: number): void;
}

/** The last response of `rows`. */
export interface RunEnd {
  readonly progress: RunProgress;
  /** Set for a measured statement that ran to its end. */
  readonly profile?: RunProfile;
}

export type CallName = keyof EngineCalls;
export type NoteName = keyof EngineNotes;

/** The header of a frame from the server. */
export interface Request {
  /** Number of the call; 0: a note. */
  readonly id: number;
  readonly name: CallName | NoteName;
  readonly args: readonly unknown[];
}

/** The header of a frame to the server. */
export interface CallAnswer {
  /** Number of the call; 0: of no call, with a `beat`. */
  readonly id: number;
  readonly value?: unknown;
  /** `kind` is that of an `EngineFault`. Other errors have none. */
  readonly failure?: { readonly message: string; readonly kind?: FaultKind };
  /** A chunk. Its body is where the text of each row ends (4 bytes each), then the texts. */
  readonly rows?: { readonly count: number; readonly progress: RunProgress };
  readonly beat?: Beat;
}

/** Tells that the process is alive, and what memory and processor time it takes. */
export interface Beat {
  readonly residentBytes: number;
  /** Processor time since it started, of all its threads. */
  readonly cpuMs: number;
}

/**
 * Chunks of 2,048 rows that cross before they are asked for. They hide the time of the way there
 * and back.
 */
export const CHUNKS_AHEAD = 4;
/** Fewer chunks are not asked for: an answer of one chunk is not asked for at all. */
export const CHUNKS_ASKED = 2;
export const BEAT_MS = 100;
