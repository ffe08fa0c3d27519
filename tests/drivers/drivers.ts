/** Drivers of other languages: a query server with rows, and the programs that ask it. */

import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { startLabServer } from "../doubles/lab_server.ts";

/** Where `.ci/run` puts what it obtains. */
export const DRIVERS = Deno.env.get("SVC_TEST_DRIVERS") ?? "/var/tmp/svc-test-drivers";

/** What a program prints that asks a server with five rows. Errors: what it wrote to stderr. */
export async function askWith(
  command: (port: string) => readonly string[],
): Promise<string> {
  await using lab = await WarehouseLab.open();
  await lab.commit(Array.from({ length: 5 }, (_, at) => ({
    ns: BigInt(1_700_000_000 + at) * 1_000_000_000n,
    raw: `row ${at}`,
  })));
  await using server = await startLabServer(lab, ["--pg-listen", "127.0.0.1:0"]);
  const [program = "", ...args] = command(String(server.server.pgAddress?.port));
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args,
    cwd: import.meta.dirname ?? ".",
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`${program}: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}
