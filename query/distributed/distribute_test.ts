import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { PreparedQuery, QueryRequest } from "../../shared/engine/types.ts";
import { Distribution } from "./distribute.ts";
import type { DistributionOptions, FannedFor, Wish } from "./distribution_options.ts";

/** An engine that notes what it is asked, and shares nothing. */
function asked() {
  const calls: string[] = [];
  const prepared = (request: QueryRequest) =>
    ({
      servedBy: "scan",
      storeBytes: 100,
      isOrdered: false,
      ...(request.sql === "whole" && request.subqueriesFirst !== false
        ? { runsSubqueriesFirst: true }
        : {}),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }) as unknown as PreparedQuery;
  const requests: QueryRequest[] = [];
  const engine = {
    prepare(request: QueryRequest) {
      calls.push(`prepare ${request.sql}`);
      requests.push(request);
      return Promise.resolve(prepared(request));
    },
    spread(request: QueryRequest) {
      calls.push(`spread ${request.sql}`);
      return Promise.resolve({ reason: "a test" });
    },
  };
  const options = {
    ...{ engine, bytesMin: 10, instanceId: "me", clock: { monotonicMs: () => 0 } },
    metrics: { fannedAlone: { add() {} } },
    peers: { greetedOnce: () => Promise.resolve(), ready: ["other"], self: "me" },
  };
  const distribution = new Distribution(options as unknown as DistributionOptions);
  const prepare = (sql: string, wish: Wish) =>
    distribution.prepare({ sql } as QueryRequest, wish, {} as FannedFor);
  return { calls, requests, prepare };
}

Deno.test("a statement whose subqueries run first is shared by its parts", async () => {
  const { calls, requests, prepare } = asked();
  await using whole = await prepare("whole", "auto");
  strictEqual(whole.runsSubqueriesFirst, true);
  deepStrictEqual(calls, ["prepare whole"]);
  const { prepareParts } = requests[0] ?? {};
  await using _part = await prepareParts?.({ sql: "part" } as QueryRequest);
  await using _whole = await prepareParts?.(
    { sql: "whole", subqueriesFirst: false } as QueryRequest,
  );
  deepStrictEqual(calls.slice(1), [
    ...["prepare part", "spread part", "prepare whole", "spread whole"],
  ]);
});

Deno.test("a statement that is not to be shared has its parts prepared by the engine", async () => {
  const { requests, prepare } = asked();
  await using _whole = await prepare("whole", "never");
  strictEqual(requests[0]?.prepareParts, undefined);
});
