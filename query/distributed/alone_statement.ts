/** Statements that are prepared here, with what is told of sharing them. */

import type { PreparedQuery, RunningQuery } from "../../shared/engine/types.ts";

abstract class HereStatement implements PreparedQuery {
  constructor(protected readonly inner: PreparedQuery) {}

  get columns() {
    return this.inner.columns;
  }

  get cost() {
    return this.inner.cost;
  }

  get tables() {
    return this.inner.tables;
  }

  get servedBy() {
    return this.inner.servedBy;
  }

  get defaultOrderApplied() {
    return this.inner.defaultOrderApplied;
  }

  abstract explain(): Promise<string>;

  turn(): Promise<void> {
    return this.inner.turn();
  }

  run(): Promise<RunningQuery> {
    return this.inner.run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.inner[Symbol.asyncDispose]();
  }
}

/** A statement that was to be shared and runs here; its `stats` say why. */
export class AloneStatement extends HereStatement {
  constructor(inner: PreparedQuery, private readonly reason: string) {
    super(inner);
  }

  override async explain(): Promise<string> {
    return `on this server alone: ${this.reason}\n${await this.inner.explain()}`;
  }

  override async run(): Promise<RunningQuery> {
    return withReason(await this.inner.run(), this.reason);
  }
}

/** A statement that is explained: how it would be shared stands before its plan on one server. */
export class ExplainedStatement extends HereStatement {
  constructor(inner: PreparedQuery, private readonly shared: string) {
    super(inner);
  }

  override async explain(): Promise<string> {
    return `${this.shared}\n${await this.inner.explain()}`;
  }
}

/** The run with `stats.phases.distributed` of a statement that ran here. */
export function withReason(inner: RunningQuery, reason: string): RunningQuery {
  return {
    columns: inner.columns,
    ...(inner.approximation === undefined ? {} : { approximation: inner.approximation }),
    chunks: (shape) => inner.chunks(shape),
    arrowSchema: (names) => inner.arrowSchema(names),
    progress: () => inner.progress(),
    async stats() {
      const stats = await inner.stats();
      return { ...stats, phases: { ...stats.phases, distributed: { mode: "local", reason } } };
    },
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}
