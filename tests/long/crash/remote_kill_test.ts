/**
 * A stack on S3 and PostgreSQL under the kills of `tests/crash/chaos.ts`. S3 takes 10 ms a request
 * and now and then throttles, hangs up or answers half; PostgreSQL breaks its connections.
 */

// @ts-types="@types/pg"
import pg from "pg";
import { POSTGRES, PostgresProcess } from "../../../shared/testing/postgres_process.ts";
import { type S3Fault, S3Process } from "../../../shared/testing/s3_process.ts";
import { newSeed, SeededRandom } from "../../../shared/testing/seeded_random.ts";
import { Stack } from "../../apps/stack.ts";
import { survivesChaos } from "../../crash/chaos.ts";

Deno.test({
  name:
    "Stack on S3 and PostgreSQL: kills, faults and lost connections lose no row and double none",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn() {
    const seed = newSeed();
    await using s3 = await S3Process.start();
    await using postgres = await PostgresProcess.start();
    const catalogUri = await postgres.newDatabase();
    await using stack = await Stack.start({
      rollAgeSecs: 1,
      catalogUri,
      warehouseUrl: "s3://warehouse/lake",
      env: s3.environment,
    });
    s3.delayMs = 10;
    const random = new SeededRandom(~seed);
    s3.faultOf = () => {
      if (!random.chance(0.03)) return undefined;
      return FAULTS[random.below(FAULTS.length)];
    };
    await survivesChaos(stack, seed, () => breakConnections(postgres));
    s3.faultOf = () => undefined;
  },
});

const FAULTS: readonly S3Fault[] = [{ status: 503, code: "SlowDown" }, "reset", "half"];

async function breakConnections(postgres: PostgresProcess): Promise<void> {
  const client = new pg.Client({ connectionString: postgres.uri() });
  await client.connect();
  await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
      "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
  );
  await client.end();
}
