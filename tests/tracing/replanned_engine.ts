/** An engine whose plans are not what they say, for tests of code that decides by them. */

import type { Engine, PreparedQuery, QueryRequest } from "../../shared/engine/types.ts";

/**
 * `engine`, with what `change` says of each prepared statement in the place of what it says itself.
 */
export function replanned(
  engine: Engine,
  change: (prepared: PreparedQuery) => Partial<Pick<PreparedQuery, "cost" | "servedBy">>,
): Engine {
  const prepare = async (request: QueryRequest): Promise<PreparedQuery> => {
    const prepared = await engine.prepare(request);
    const { columns, cost, tables, servedBy, defaultOrderApplied } = prepared;
    return {
      columns,
      cost,
      tables,
      servedBy,
      defaultOrderApplied,
      explain: () => prepared.explain(),
      turn: () => prepared.turn(),
      run: () => prepared.run(),
      [Symbol.asyncDispose]: () => prepared[Symbol.asyncDispose](),
      ...change(prepared),
    };
  };
  return new Proxy(engine, {
    get: (target, name) => name === "prepare" ? prepare : Reflect.get(target, name),
  });
}
