import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { concatBytes, utf8 } from "../base/bytes.ts";
import { isOperatingError, placedMessageOf } from "../base/errors.ts";
import { postgresPlace, PostgresPool } from "./postgres_pool.ts";

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

async function listening(onSocket: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    onSocket(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, uri: `postgres://u@127.0.0.1:${port}/d`, server };
}

Deno.test("PostgresPool outlives connections that end in the moment in which they are ready", async () => {
  let taken = 0;
  const { uri, server } = await listening((socket) => {
    socket.once("data", () => {
      taken += 1;
      socket.end(concatBytes([READY, ENDED]));
    });
  });
  try {
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

Deno.test("PostgresPool names host and user to the command line alone", async () => {
  const { port, uri, server } = await listening((socket) => {
    socket.once(
      "data",
      () =>
        socket.end(
          message("E", utf8(`SFATAL\0C28000\0Mno entry for host "10.0.0.5", user "u"\0\0`)),
        ),
    );
  });
  await using pool = new PostgresPool({ uri, readOnly: false });
  const failing = async () =>
    await pool.query("read", "SELECT 1").then(() => assert.fail(), (error: unknown) => error);
  const refused = await failing();
  await new Promise((resolve) => server.close(resolve));
  const away = await failing();
  const cases = [
    [refused, "Cannot read in the catalog: 28000; check user and password of --catalog-uri"],
    [
      away,
      "Cannot read in the catalog: ECONNREFUSED; check that the server of --catalog-uri runs and can be reached",
    ],
  ] as const;
  for (const [error, text] of cases) {
    assert.ok(isOperatingError(error));
    assert.equal(error.message, text);
    assert.ok(placedMessageOf(error).startsWith(`${text} (postgres://`));
    assert.match(error.place ?? "", new RegExp(`^postgres://127.0.0.1:${port}/d: .`));
  }
});

Deno.test("postgresPlace says what to write instead of several hosts, and of a password's signs", () => {
  const cases = [
    ["postgres://u:hush@one:5432,two:5432/d", /one address that leads to the primary/],
    ["postgres://one,two/d", /one address that leads to the primary/],
    ["postgres://u:hu,s/h@one:5432/d", /%2F/],
    ["postgres://u:hush#@one/d", /%23/],
  ] as const;
  for (const [uri, remedy] of cases) {
    assert.throws(() => postgresPlace(uri), (error) => {
      assert.ok(isOperatingError(error, "invalid_argument"), uri);
      assert.match(error.message, remedy, uri);
      return !/hu,?s/.test(error.message);
    });
  }
});
