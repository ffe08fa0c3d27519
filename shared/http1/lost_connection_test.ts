import assert from "node:assert/strict";
import { isLost } from "./lost_connection.ts";

const CASES: readonly [what: string, error: unknown, isLost: boolean][] = [
  ["a socket that was closed here", new Deno.errors.BadResource("closed"), true],
  ["a peer that reset", new Deno.errors.ConnectionReset("reset"), true],
  ["a record that is no TLS", new Deno.errors.InvalidData("no TLS"), true],
  ["a host that cannot be reached", Object.assign(new Error("x"), { code: "EHOSTUNREACH" }), true],
  ["a bug", new TypeError("x is undefined"), false],
  ["a code of the runtime's own", Object.assign(new Error("x"), { code: "ERR_ABORTED" }), false],
  ["nothing", undefined, false],
  ["null", null, false],
];

for (const [what, error, expected] of CASES) {
  Deno.test(`isLost ${what} → ${expected}`, () => assert.equal(isLost(error), expected));
}

Deno.test({
  name: "isLost what a read and a write say once the peer has reset the connection",
  async fn() {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = listener.addr as Deno.NetAddr;
    const [ours, theirs] = await Promise.all([
      listener.accept(),
      Deno.connect({ hostname: "127.0.0.1", port }),
    ]);
    // Closing with bytes unread resets.
    await ours.write(new Uint8Array(1));
    await theirs.read(new Uint8Array(0));
    theirs.close();
    await assert.rejects(
      async () => {
        for (;;) await ours.write(new Uint8Array(65_536));
      },
      isLost,
    );
    ours.close();
    await assert.rejects(ours.read(new Uint8Array(1)), isLost);
  },
});
