/** A statement that was to be shared and runs on this server: its `stats` say why. */

import type { PreparedQuery, RunningQuery } from "../../shared/engine/types.ts";

/** A statement that was to be shared and runs here; its `stats` say why. */
export class AloneStatement implements PreparedQuery {
  constructor(private readonly inner: PreparedQuery, private readonly reason: string) {}

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

  async explain(): Promise<string> {
    return `on this server alone: ${this.reason}\n${await this.inner.explain()}`;
  }

  turn(): Promise<void> {
    return this.inner.turn();
  }

  async run(): Promise<RunningQuery> {
    return withReason(await this.inner.run(), this.reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.inner[Symbol.asyncDispose]();
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
