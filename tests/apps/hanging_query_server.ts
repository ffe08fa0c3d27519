/**
 * The query server as a program, but three literals stand for what its gate would never let
 * through. Two are statements that DuckDB cannot be interrupted in, the third makes gigabytes of a
 * value. So tests see what holds statements that nobody thought of.
 */

import type {
  EngineConnection,
  EngineDatabase,
  EngineDriver,
} from "../../shared/engine/duckdb/driver.ts";
import type { RunStatement } from "../../shared/engine/duckdb/driver.ts";
import { EXPANDING, HANGING } from "../../shared/testing/hanging_statement.ts";
import { runProgram } from "../../shared/config/run_program.ts";
import { OPTIONS, startQuery } from "../../query/mod.ts";

/** In a statement it makes the whole of it hang at work, or grow. */
export const HANG = "hang here";
export const GROW = "grow here";

/**
 * In a statement it makes the whole of it wait for a writer of the named pipe `pipe`. That takes no
 * processor time from what else a test looks at.
 */
export const waitAt = (pipe: string) => `wait at ${pipe}`;
const WAIT = new RegExp(`${waitAt("([^']+)")}`);

export function hangingDriver(driver: EngineDriver): EngineDriver {
  return {
    open: async (options) => hangingDatabase(await driver.open(options)),
  };
}

function hangingDatabase(database: EngineDatabase): EngineDatabase {
  return withMember(database, "connect", async (...args: Parameters<EngineDatabase["connect"]>) => {
    const connection = await database.connect(...args);
    return withMember(
      connection,
      "rows",
      (statement: RunStatement) => connection.rows({ ...statement, ...instead(statement) }),
    );
  });
}

function instead({ sql }: RunStatement): Partial<RunStatement> {
  const [, pipe] = WAIT.exec(sql) ?? [];
  if (pipe !== undefined) return { sql: `SELECT content FROM read_text('${pipe}')`, values: [] };
  if (sql.includes(HANG)) return { sql: HANGING, values: [] };
  return sql.includes(GROW) ? { sql: EXPANDING, values: [] } : {};
}

/** `whole`, but `name` is `member`. */
function withMember<T extends EngineDatabase | EngineConnection>(
  whole: T,
  name: keyof T,
  member: unknown,
): T {
  return new Proxy(whole, {
    get(target, key) {
      if (key === name) return member;
      const value = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
  });
}

if (import.meta.main) {
  const program = { name: "hanging-query-server", summary: "", options: OPTIONS, version: "0" };
  await runProgram(program, async (settings, endRequested) => {
    await using _server = await startQuery(settings, { asDriver: hangingDriver });
    await endRequested;
    return undefined;
  });
}
