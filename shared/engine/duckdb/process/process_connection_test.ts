import { DamagedFiles } from "../../files/damaged_files.ts";
import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { EngineFault } from "../driver.ts";
import type { PrepareDeps } from "../../prepare.ts";
import { type FollowSource, TableFollowers } from "../../follow/table_follower.ts";
import { LivenessProbe } from "../liveness_probe.ts";
import { SqlEngine } from "../../sql_engine.ts";
import { StatementCache } from "../../statement/statement_cache.ts";
import { type ReceivedFolder, ReceivedSpace } from "../../shards/received_rows.ts";
import { Turns } from "../../turns/turns.ts";
import type { QueryRequest } from "../../types.ts";
import type { CallName } from "./calls.ts";
import type { EngineClient, Work } from "./engine_client.ts";
import { ProcessConnection } from "./process_connection.ts";

const INVALIDATED = "FATAL Error: Failed: database has been invalidated because of a previous " +
  "fatal error. The database must be restarted prior to being used again.";

const FAULTS: readonly (readonly [EngineFault, kind: string, kills: readonly string[]])[] = [
  [new EngineFault("internal", INVALIDATED), "lost", ["exited"]],
  [new EngineFault("internal", "INTERNAL Error: of this statement alone"), "internal", []],
  [new EngineFault("statement", `Binder Error: ${INVALIDATED}`), "statement", []],
];

for (const [fault, kind, expected] of FAULTS) {
  Deno.test({
    name:
      `ProcessConnection a fault of kind ${fault.kind} is ${kind}, and ends ${expected.length} processes`,
    fn: async () => {
      const kills: string[] = [];
      const client: Partial<EngineClient> = {
        isOver: true,
        call: () => Promise.reject(fault),
        entered: () => {},
        left: () => {},
        rested: () => {},
        kill: (end) => kills.push(end),
      };
      const connection = new ProcessConnection(client as EngineClient, {
        at: 0,
        label: () => "",
        giveBack: () => {},
      });
      await rejects(connection.texts("SELECT 1"), { kind });
      deepStrictEqual(kills, expected);
      await connection.release();
    },
  });
}

/**
 * Connections of a process that takes too much memory while it answers the calls that `isTooLarge`
 * says.
 */
function openTooLarge(isTooLarge: (name: CallName) => boolean) {
  const works = new Set<Work>();
  const told = { calls: [] as CallName[], givenBack: 0 };
  const call = (name: CallName) => {
    told.calls.push(name);
    if (isTooLarge(name)) { for (const work of works) work.isTooLarge = true; }
    return Promise.resolve([["1"]]);
  };
  const client: Partial<EngineClient> = {
    isOver: false,
    call: call as EngineClient["call"],
    entered: (work) => works.add(work),
    left: (work) => works.delete(work),
    stopping: () => {},
    rested: () => {},
  };
  const connect = () =>
    Promise.resolve(
      new ProcessConnection(client as EngineClient, {
        at: 0,
        label: () => "",
        giveBack: () => told.givenBack += 1,
      }),
    );
  return { told, connect, database: { connect, close: () => Promise.resolve() } };
}

/** Says `true` of the first call alone. */
function once(): () => boolean {
  let calls = 0;
  return () => (calls += 1) === 1;
}

Deno.test({
  name: "ProcessConnection what comes after a call that took too much memory is answered",
  fn: async () => {
    const { connect } = openTooLarge(once());
    const connection = await connect();
    await rejects(connection.texts("SELECT 1"), { kind: "memory" });
    deepStrictEqual(await connection.texts("SELECT 1"), [["1"]]);
  },
});

Deno.test({
  name: "LivenessProbe asks again after its process took too much memory, and has its answer",
  fn: async () => {
    const { database, told } = openTooLarge(once());
    const probe = new LivenessProbe(database);
    deepStrictEqual(await probe.ask((connection) => connection.texts("SELECT 1")), [["1"]]);
    deepStrictEqual(told.calls, ["texts", "texts"]);
  },
});

Deno.test({
  name: "ProcessConnection.release gives back what took too much memory, also while it is released",
  fn: async () => {
    const { connect, told } = openTooLarge(() => true);
    const connection = await connect();
    await rejects(connection.texts("SELECT 1"), { kind: "memory" });
    await connection.release();
    deepStrictEqual(told, { calls: ["texts", "release"], givenBack: 1 });
  },
});

for (const failure of [undefined, new EngineFault("internal", "it cannot be released")]) {
  Deno.test({
    name: `SqlEngine.prepare a statement that took too much memory is pool_exhausted, ${
      failure === undefined ? "and its connection is given back" : "although its release fails"
    }`,
    fn: async () => {
      const { connect, told } = openTooLarge(() => true);
      const database = {
        connect: async () => {
          const connection = await connect();
          const release = connection.release.bind(connection);
          connection.release = async () => {
            await release();
            if (failure !== undefined) throw failure;
          };
          return connection;
        },
        close: () => Promise.resolve(),
      };
      const turnCounts = { light: 1, dear: 1, batch: 1, shard: 1 };
      const nowMs = () => 0;
      const damaged = new DamagedFiles({ isSkipping: false, onDamage: () => {}, nowMs });
      const deps: Partial<PrepareDeps> = { nowMs, damaged, statements: new StatementCache() };
      await using engine = new SqlEngine({
        databases: { light: database, dear: database },
        turns: new Turns(turnCounts),
        turnCounts,
        probes: [new LivenessProbe(database)],
        prepare: deps as PrepareDeps,
        works: [],
        memoryBytesMax: 1,
        spillBytesMax: 1,
        followers: new TableFollowers({} as FollowSource),
        received: new ReceivedSpace({} as ReceivedFolder),
        unixMs: () => 0,
      });
      const request: QueryRequest = {
        ...{ sql: "SELECT 1", namespace: "n", tenant: "t" },
        ...{ defaultOrder: false, rowsMax: 1, deadlineMs: 5_000 },
      };
      await rejects(engine.prepare(request), {
        code: "unavailable",
        reason: "pool_exhausted",
        retryAfterSecs: 5,
      });
      strictEqual(told.givenBack, 1);
    },
  });
}
