/** A connection to a DuckDB without tables, for tests of what its parser makes. */

import type { EngineConnection } from "../engine/duckdb/driver.ts";
import { nativeDriver } from "../engine/duckdb/native_driver.ts";

export async function openDuckdbConnection(): Promise<
  AsyncDisposable & { readonly connection: EngineConnection }
> {
  const dir = await Deno.makeTempDir({ prefix: "duckdb-connection-" });
  const database = await nativeDriver({ readFile: (path) => Deno.readFile(path) }).open({
    ...{ readableDirs: [], scratchDir: dir, memoryBytesMax: 2 ** 28, spillBytesMax: 2 ** 20 },
    ...{ threads: 1, connections: 1, setup: [] },
  });
  const connection = await database.connect(new AbortController().signal);
  return {
    connection,
    [Symbol.asyncDispose]: async () => {
      await connection.release();
      await database.close();
      await Deno.remove(dir, { recursive: true });
    },
  };
}
