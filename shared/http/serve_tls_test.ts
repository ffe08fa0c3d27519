import assert from "node:assert/strict";
import { connect } from "node:tls";
import { selfSigned } from "../testing/self_signed.ts";
import { serve } from "./serve.ts";

/** The protocol that the server chooses of `offered`, and its first line to a GET. */
function ask(port: number, offered: string[]): Promise<{ chosen: unknown; line: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      ...{ host: "127.0.0.1", port, rejectUnauthorized: false },
      ALPNProtocols: offered,
    }, () => {
      socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    });
    socket.on("error", reject);
    socket.on("data", (data) => {
      resolve({ chosen: socket.alpnProtocol, line: String(data).split("\r\n")[0] ?? "" });
      socket.destroy();
    });
  });
}

Deno.test({
  name:
    "a listener with TLS chooses HTTP/1.1 of what browsers offer, and serves who offers nothing",
  fn: async () => {
    await using server = serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: await selfSigned(),
      handler: (request) => new Response(request.url),
    });
    const { port } = server.address;
    for (const offered of [["h2", "http/1.1"], ["http/1.1"]]) {
      const { chosen, line } = await ask(port, offered);
      assert.equal(chosen, "http/1.1");
      assert.equal(line, "HTTP/1.1 200 OK");
    }
    assert.equal((await ask(port, [])).line, "HTTP/1.1 200 OK");
  },
});

Deno.test({
  name: "who speaks plain text to a listener with TLS loses the connection, and nobody else does",
  fn: async () => {
    await using server = serve({
      hostname: "127.0.0.1",
      port: 0,
      tls: await selfSigned(),
      handler: () => new Response("ok"),
    });
    const { port } = server.address;
    using silent = await Deno.connect({ hostname: "127.0.0.1", port });
    using plain = await Deno.connect({ hostname: "127.0.0.1", port });
    await plain.write(new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\n\r\n"));
    const chunk = new Uint8Array(1024);
    // An alert, or nothing, and then the end.
    const read = () => plain.read(chunk).catch(() => null);
    for (let count = await read(); count !== null; count = await read());
    assert.equal((await ask(port, ["http/1.1"])).line, "HTTP/1.1 200 OK");
    void silent;
  },
});
