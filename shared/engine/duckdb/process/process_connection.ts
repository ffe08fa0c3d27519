/**
 * One connection of a DuckDB in another process. A call whose response is not needed crosses
 * without a wait.
 */

import {
  type DescribedColumn,
  type EngineConnection,
  EngineFault,
  type Relation,
  type RunProfile,
  type RunStatement,
  type TextChunk,
} from "../driver.ts";
import type { RunProgress } from "../../types.ts";
import { type CallName, CHUNKS_ASKED, type EngineCalls, type RunEnd } from "./calls.ts";
import type { EngineClient, Work } from "./engine_client.ts";

/** A connection in a process, and what it was lent for. */
export interface ConnectionPlace {
  /** The connection's number in the process. */
  readonly at: number;
  /** Names the statement that it is lent to. */
  readonly label: () => string;
  readonly giveBack: () => void;
}

const NOTHING_DONE: RunProgress = { rows: 0, percent: undefined };
const ENDS_BYTES = 4;

/** A connection of DuckDB in another process. Errors of all methods: `EngineFault`. */
export class ProcessConnection implements EngineConnection {
  /** The progress that was last told. */
  #progress = NOTHING_DONE;
  #profile: RunProfile | undefined;
  #isAsking = false;
  /** Whether something may be left over there that the next statement must not have. */
  #isDirty = false;
  #released: Promise<void> | undefined;
  readonly #work: Work;

  constructor(private readonly client: EngineClient, private readonly place: ConnectionPlace) {
    this.#work = {
      pending: 0,
      isTooLarge: false,
      label: place.label,
      interrupt: () => this.interrupt(),
    };
    client.entered(this.#work);
  }

  serialize(sql: string): Promise<string> {
    return this.#call("serialize", sql);
  }

  deserialize(tree: string): Promise<string> {
    return this.#call("deserialize", tree);
  }

  texts(sql: string): Promise<(string | null)[][]> {
    return this.#call("texts", sql);
  }

  describe(
    sql: string,
    relations: readonly Relation[],
  ): Promise<readonly DescribedColumn[]> {
    return this.#call("describe", sql, relations);
  }

  explain(sql: string): Promise<string> {
    return this.#call("explain", sql);
  }

  parameterTypes(
    sql: string,
    names: readonly string[],
    relations: readonly Relation[],
  ): ReturnType<EngineConnection["parameterTypes"]> {
    return this.#call("parameterTypes", sql, names, relations);
  }

  async *rows(statement: RunStatement): AsyncGenerator<TextChunk> {
    const { client, place: { at } } = this;
    this.#progress = NOTHING_DONE;
    this.#profile = undefined;
    const chunks: TextChunk[] = [];
    let taken = 0;
    const run: { end?: { readonly error?: unknown }; wake: () => void } = { wake: () => {} };
    const running = client.stream(at, statement, ({ count, progress }, body) => {
      this.#progress = progress;
      chunks.push(statement.arrow === undefined ? textChunk(count, body) : arrowBatch(count, body));
      run.wake();
    });
    const ended = this.#counted(this.#judged(running)).then((told: RunEnd) => {
      this.#progress = told.progress;
      this.#profile = told.profile;
      run.end = {};
    }, (error) => {
      run.end = { error };
    }).finally(() => run.wake());
    try {
      for (;;) {
        const chunk = chunks.shift();
        if (chunk !== undefined) {
          yield chunk;
          taken += 1;
          if (run.end === undefined && taken % CHUNKS_ASKED === 0) client.note("more", at);
        } else if (run.end === undefined) {
          await new Promise<void>((resolve) => run.wake = resolve);
        } else {
          if (run.end.error !== undefined) throw run.end.error;
          return;
        }
      }
    } finally {
      if (run.end === undefined) {
        this.#isDirty = true;
        client.note("enough", at);
        await ended;
      }
    }
  }

  /**
   * The progress that was told last. A caller that asks again and again is at most one question
   * late.
   */
  progress(): RunProgress {
    if (!this.#isAsking && this.#work.pending > 0) void this.#askProgress();
    return this.#progress;
  }

  interrupt(): void {
    if (this.#work.pending === 0) return;
    this.client.note("interrupt", this.place.at);
    this.client.stopping(this.#work);
  }

  profile(): Promise<RunProfile | undefined> {
    return Promise.resolve(this.#profile);
  }

  release(): Promise<void> {
    return this.#released ??= this.#release();
  }

  async #release(): Promise<void> {
    const { client, place } = this;
    try {
      if (client.isOver || (this.#work.pending === 0 && !this.#isDirty)) return;
      // This is not judged: a connection is given back whatever ended what ran on it.
      const released = this.#counted(client.call("release", place.at));
      client.stopping(this.#work);
      // Once the process has ended there is nothing to give back.
      await released.catch((error) => {
        if (!client.isOver) throw error;
      });
    } finally {
      client.left(this.#work);
      place.giveBack();
    }
  }

  #call<
    N extends "serialize" | "deserialize" | "texts" | "describe" | "parameterTypes" | "explain",
  >(
    name: N,
    ...args: Parameters<EngineCalls[N]> extends [number, ...infer R] ? R : never
  ): ReturnType<EngineCalls[N]> {
    if (this.#released !== undefined) return Promise.reject(givenBack()) as never;
    const all = [this.place.at, ...args] as unknown as Parameters<EngineCalls[N]>;
    return this.#counted(
      this.#judged(this.client.call(name as CallName, ...all as never)),
    ) as never;
  }

  /**
   * Counts `answer` among what is waited for. Once all has come, what comes later is judged anew.
   */
  async #counted<T>(answer: Promise<T>): Promise<T> {
    const work = this.#work;
    work.pending += 1;
    try {
      return await answer;
    } catch (error) {
      this.#isDirty = true;
      if (!isInvalidated(error)) throw error;
      this.client.kill("exited", "an internal error had made its database unusable");
      throw new EngineFault("lost", "DuckDB refused the statement", { cause: error });
    } finally {
      work.pending -= 1;
      if (work.pending === 0) {
        work.isTooLarge = false;
        this.client.rested(work);
      }
    }
  }

  /** Tells that `answer` failed because of the process's memory, which DuckDB cannot know. */
  async #judged<T>(answer: Promise<T>): Promise<T> {
    try {
      const value = await answer;
      if (!this.#work.isTooLarge) return value;
      throw new EngineFault("interrupted", "the process takes too much");
    } catch (error) {
      if (!this.#work.isTooLarge || isInvalidated(error)) throw error;
      throw new EngineFault("memory", "DuckDB's process took more memory than it may", {
        cause: error,
      });
    }
  }

  async #askProgress(): Promise<void> {
    this.#isAsking = true;
    try {
      this.#progress = await this.client.call("progress", this.place.at);
    } catch {
      // When the process has ended, whoever waits for its rows hears of it.
    } finally {
      this.#isAsking = false;
    }
  }
}

/** After some internal errors DuckDB refuses every statement until it is begun anew. */
function isInvalidated(error: unknown): boolean {
  return error instanceof EngineFault && error.kind === "internal" &&
    error.message.includes("database has been invalidated");
}

function givenBack(): EngineFault {
  return new EngineFault("interrupted", "the connection was given back");
}

/** The body of a chunk: where each text ends, then the texts. */
function textChunk(rowCount: number, body: Uint8Array<ArrayBuffer>): TextChunk {
  const ends = new Uint32Array(body.buffer, 0, rowCount);
  const texts = body.subarray(rowCount * ENDS_BYTES);
  return {
    rowCount,
    bytes: (rows = rowCount) => texts.subarray(0, rows === 0 ? 0 : ends[rows - 1]),
    ends: () => ends,
  };
}

function arrowBatch(rowCount: number, body: Uint8Array<ArrayBuffer>): TextChunk {
  return { rowCount, bytes: () => body, ends: () => new Uint32Array() };
}
