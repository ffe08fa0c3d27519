import { deepStrictEqual, rejects } from "node:assert/strict";
import { EngineFault } from "../driver.ts";
import type { EngineClient } from "./engine_client.ts";
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
