import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { concatBytes, utf8 } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import { PostgresPool } from "./postgres_pool.ts";

/** A message of PostgreSQL's protocol. */
function message(type: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(5);
  head.set(utf8(type));
  new DataView(head.buffer).setInt32(1, 4 + body.byteLength);
  return concatBytes([head, body]);
}

const READY = concatBytes([
  message("R", new Uint8Array(4)),
  message("Z", utf8("I")),
]);
const ENDED = message("E", utf8("SFATAL\0C57P01\0Mterminating connection\0\0"));

Deno.test("PostgresPool outlives connections that end in the moment in which they are ready", async () => {
  let taken = 0;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      taken += 1;
      socket.end(concatBytes([READY, ENDED]));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    const uri = `postgres://u@127.0.0.1:${port}/d`;
    await using pool = new PostgresPool({ uri, readOnly: false });
    const asked = [
      () => pool.query("read", "SELECT 1"),
      () => pool.withClient("read", (client) => client.query("SELECT 1")),
    ];
    for (const ask of asked) {
      await assert.rejects(ask, (error) => isOperatingError(error, "unavailable"));
    }
    assert.equal(taken, 2);
  } finally {
    server.close();
  }
});
