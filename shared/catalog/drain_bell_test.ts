import assert from "node:assert/strict";
import { POSTGRES, PostgresProcess } from "../testing/postgres_process.ts";
import { listenToDrainBell, openDrainBell } from "./drain_bell.ts";

Deno.test({
  name: "a catalog in a file has no bell: its drains watch the WAL",
  fn: () => assert.equal(openDrainBell("/data/warehouse/catalog.db"), undefined),
});

Deno.test({
  name:
    "DrainBell rings from a read-only session, before there are tables, and after the server died",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn() {
    await using postgres = await PostgresProcess.start();
    const uri = await postgres.newDatabase();
    const rings: (string | undefined)[] = [];
    await using listener = listenToDrainBell(uri, (lane) => rings.push(lane));
    await until(() => listener.isListening);
    assert.deepEqual(rings.splice(0), [undefined], "what rang before is not known");
    await using bell = openDrainBell(uri);
    assert.ok(bell !== undefined);
    await bell.ring("acme/o'brien");
    await until(() => rings.length > 0);
    assert.deepEqual(rings.splice(0), ["acme/o'brien"]);
    await postgres.kill();
    await until(() => !listener.isListening);
    await assert.rejects(bell.ring("acme/web"), /Cannot ring for a drain/);
    await postgres.resume();
    await until(() => rings.length > 0);
    assert.deepEqual(rings.splice(0), [undefined]);
    await bell.ring("acme/web");
    await until(() => rings.length > 0);
    assert.deepEqual(rings, ["acme/web"]);
  },
});

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    assert.ok(tries < 1_000, "not within ten seconds");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
