/** A real query server over the warehouse of a `WarehouseLab`. */

import { OPTIONS, type QueryServer, startQuery } from "../../query/mod.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import type { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { ONE_DUCKDB } from "../../shared/testing/one_duckdb.ts";
import { IN_THIS_PROCESS } from "../../shared/testing/in_this_process.ts";

export interface LabServer extends AsyncDisposable {
  readonly url: string;
  readonly server: QueryServer;
}

/** Starts it on a free port; `args` are further options. */
export async function startLabServer(
  { dir }: Pick<WarehouseLab, "dir">,
  args: readonly string[] = [],
): Promise<LabServer> {
  const server = await startQuery(
    parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--audit-disabled"],
      ...["--data-dir", dir, "--threads", "2", ...ONE_DUCKDB, ...args],
    ]),
    IN_THIS_PROCESS,
  );
  return {
    url: `http://127.0.0.1:${server.address.port}`,
    server,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}
