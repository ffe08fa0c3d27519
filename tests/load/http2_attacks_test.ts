/**
 * A running server whose OTLP/gRPC port one sender attacks: others are answered meanwhile, on its
 * other ports and on that one. What a connection's frames may cost is counted in
 * `shared/http2/attack_test.ts`; here is that this suffices.
 */

import assert from "node:assert/strict";
import { encodeLogsRequest } from "../../proto/otlp_logs.ts";
import { HTTP2_ATTACKS } from "../../shared/testing/http2_attacks.ts";
import { framed, GrpcConnection } from "../clients/grpc_call.ts";
import { RunningIngest } from "../clients/running_ingest.ts";

const ATTACK_SECS = 1;
/** The longest wait of anybody else, as a share of the time of an attack. It was all of it. */
const SHARE_MAX = 0.4;
/**
 * What else the machine does makes single runs longer: one of so many has to be within the bound.
 */
const RUNS_MAX = 5;
const ATTACKER = `${import.meta.dirname}/http2_attacker.ts`;
const BODY = encodeLogsRequest({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "of somebody else" } }] }] }],
});

for (const { name } of HTTP2_ATTACKS) {
  Deno.test({
    name: `an attack with ${name} keeps no other waiting for ${SHARE_MAX} of its time`,
    fn: async () => {
      await using ingest = await RunningIngest.start();
      await using grpc = new GrpcConnection(ingest.grpcTarget);
      let share = Infinity;
      for (let run = 0; run < RUNS_MAX && share > SHARE_MAX; run += 1) {
        share = await longestShare(ingest, { grpc, name });
      }
      assert.ok(share <= SHARE_MAX, String(share));
    },
  });
}

/** The longest that a request waited while the attack went on, as a share of its time. */
async function longestShare(
  ingest: RunningIngest,
  { grpc, name }: { readonly grpc: GrpcConnection; readonly name: string },
): Promise<number> {
  const port = ingest.grpcTarget.split(":")[1] ?? "";
  const attacking = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-check", "--no-prompt", "--allow-net=127.0.0.1", ATTACKER],
      ...[port, String(ATTACK_SECS), "1", name],
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  let isOver = false;
  attacking.finally(() => isOver = true).catch(() => {});
  let longestMs = 0;
  const waits = async (ask: () => Promise<void>) => {
    while (!isOver) {
      const startMs = performance.now();
      await ask();
      longestMs = Math.max(longestMs, performance.now() - startMs);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  await Promise.all([
    waits(async () => await (await fetch(`${ingest.url}/healthz`)).body?.cancel()),
    waits(async () => assert.equal((await grpc.call({ wire: framed(BODY) })).code, 0)),
  ]);
  const { success, stdout } = await attacking;
  assert.ok(success);
  assert.ok(JSON.parse(new TextDecoder().decode(stdout)).bytes > 0, "nothing was sent");
  return longestMs / (1_000 * ATTACK_SECS);
}
