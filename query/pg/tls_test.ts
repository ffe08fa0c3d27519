/** TLS of PostgreSQL's protocol: by SSLRequest and directly. */

import assert from "node:assert/strict";
import { join } from "node:path";
import tls from "node:tls";
// @ts-types="@types/pg"
import pg from "pg";
import { concatBytes } from "../../shared/base/bytes.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { selfSigned } from "../../shared/testing/self_signed.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { startLabServer } from "../../tests/doubles/lab_server.ts";
import { int32, packet, PgWireClient, zero } from "../../tests/doubles/pg_wire_client.ts";

const SSL_REQUEST = packet(int32(80_877_103));
const GSS_REQUEST = packet(int32(80_877_104));
const STARTUP = packet(concatBytes([int32(0x30000), zero("user"), zero("u"), zero("")]));

async function tlsLab() {
  const lab = await WarehouseLab.open();
  const { cert, key } = await selfSigned();
  const [certFile, keyFile] = [join(lab.dir, "cert.pem"), join(lab.dir, "key.pem")];
  await Deno.writeTextFile(certFile, cert);
  await Deno.writeTextFile(keyFile, key);
  const server = await startLabServer(lab, [
    ...["--pg-listen", "127.0.0.1:0", "--tls-cert", certFile, "--tls-key", keyFile],
    ...["--tokens", "good-token"],
  ]);
  return {
    port: server.server.pgAddress?.port ?? 0,
    cert,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    },
  };
}

Deno.test({
  name: "pg asks by TLS, also for answers of many megabytes",
  fn: async () => {
    await using lab = await tlsLab();
    const client = new pg.Client({
      ...{ host: "localhost", port: lab.port, user: "u", database: "svc" },
      password: "good-token",
      ssl: { ca: lab.cert },
    });
    await client.connect();
    try {
      const { rows } = await client.query(
        "SELECT i, repeat('x', 200) AS t FROM range(40000) r(i) ORDER BY i",
      );
      assert.equal(rows.length, 40_000);
      assert.equal(rows.at(-1)?.i, "39999");
    } finally {
      await client.end();
    }
  },
});

/** What comes back by TLS without a request for it; undefined: the server ended the handshake. */
async function direct(port: number, protocols: string[] | undefined): Promise<string | undefined> {
  const socket = tls.connect({
    ...{ host: "127.0.0.1", port, rejectUnauthorized: false },
    ...(protocols === undefined ? {} : { ALPNProtocols: protocols }),
  });
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  socket.on("secureConnect", () => socket.write(STARTUP));
  socket.once("data", (bytes: Uint8Array) => resolve(String.fromCharCode(bytes[0] ?? 0)));
  socket.once("error", () => resolve(undefined));
  socket.once("close", () => resolve(undefined));
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}

Deno.test({
  name: "direct TLS begins a session where ALPN names the protocol, and none elsewhere",
  fn: async () => {
    await using lab = await tlsLab();
    assert.equal(await direct(lab.port, ["postgresql"]), "R");
    assert.equal(await direct(lab.port, undefined), undefined);
    assert.equal(await direct(lab.port, ["h2"]), undefined);
  },
});

Deno.test({
  name: "a client that is refused GSSAPI or sends more before TLS is answered as PostgreSQL does",
  fn: async () => {
    await using lab = await tlsLab();
    using client = await PgWireClient.open(lab.port);
    await client.write(GSS_REQUEST);
    assert.equal(await client.readByte(), "N");
    await client.write(SSL_REQUEST);
    assert.equal(await client.readByte(), "S");
    using hasty = await PgWireClient.open(lab.port);
    await hasty.write(concatBytes([SSL_REQUEST, STARTUP]));
    assert.equal(await hasty.readByte(), "S");
    assert.equal((await hasty.read())?.code, "E");
  },
});

Deno.test({
  name: "damaged handshakes end their own connection alone",
  fn: async () => {
    await using lab = await tlsLab();
    const random = new SeededRandom(29);
    for (let round = 0; round < 60; round += 1) {
      using client = await PgWireClient.open(lab.port);
      if (round % 2 === 0) {
        await client.write(SSL_REQUEST);
        assert.equal(await client.readByte(), "S");
      }
      const record = concatBytes([Uint8Array.of(0x16, 3, 1, 0, 200), random.bytes(200)]);
      await client.write(record.subarray(0, 1 + random.below(record.byteLength))).catch(() => {});
      if (round % 3 === 0) await client.conn.closeWrite().catch(() => {});
    }
    assert.equal(await direct(lab.port, ["postgresql"]), "R");
  },
});
