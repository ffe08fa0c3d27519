import assert from "node:assert/strict";
import { ConnectionCounts, networkOf } from "./connection_counts.ts";
import { planBounds } from "./connection_options.ts";
import { present } from "../base/assert.ts";
import { until } from "../testing/until.ts";
import { serve } from "./serve.ts";

const TINY_SERVER = new URL("../testing/tiny_server.ts", import.meta.url).pathname;
const DESCRIPTORS = 100;

async function openMany(port: number, count: number): Promise<Deno.Conn[]> {
  return await Promise.all(
    Array.from({ length: count }, () => Deno.connect({ hostname: "127.0.0.1", port })),
  );
}

/** Bytes that come until the connection ends. */
async function readAll(conn: Deno.Conn): Promise<string> {
  let text = "";
  const chunk = new Uint8Array(4096);
  try {
    for (let n = await conn.read(chunk); n !== null; n = await conn.read(chunk)) {
      text += new TextDecoder().decode(chunk.subarray(0, n));
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
  }
  return text;
}

Deno.test({
  name: "a listener out of file descriptors goes on once some are given back",
  fn: async () => {
    const child = new Deno.Command("sh", {
      args: [
        ...["-c", `ulimit -n ${DESCRIPTORS} && exec "$0" "$@"`, Deno.execPath()],
        ...["run", "--no-prompt", "--quiet", "--no-check", "--allow-net=127.0.0.1", TINY_SERVER],
      ],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const stderr = child.stderr.text();
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    const port = Number(new TextDecoder().decode(value));
    const silent = await openMany(port, DESCRIPTORS + 50);
    const open = `/proc/${child.pid}/fd`;
    const isOut = () => Array.from(Deno.readDirSync(open)).length >= DESCRIPTORS - 1;
    if (Deno.build.os === "linux") await until(isOut);
    // Long enough for several attempts.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    for (const conn of silent) conn.close();
    const answer = await fetch(`http://127.0.0.1:${port}/`, {
      signal: AbortSignal.timeout(10_000),
    });
    assert.ok(
      Number(await answer.text()) >= 2,
      "no attempt to accept failed: the test shows nothing",
    );
    child.kill("SIGTERM");
    await child.status;
    await reader.cancel();
    assert.equal(await stderr, "");
  },
});

const NETWORKS: [address: string, network: string][] = [
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
  ["2001:db8::6", "2001:db8:0:0"],
  ["2001:db8:1:2::", "2001:db8:1:2"],
  ["::1", "0:0:0:0"],
  ["fe80::1%eth0", "fe80:0:0:0"],
];

for (const [address, network] of NETWORKS) {
  Deno.test({
    name: `networkOf ${address} is ${network}`,
    fn: () => assert.equal(networkOf(address), network),
  });
}

Deno.test({
  name: "ConnectionCounts bounds each address and all together, and forgets who left",
  fn: () => {
    const counts = new ConnectionCounts({ connectionsMax: 3, connectionsPerAddressMax: 2 });
    assert.equal(counts.enter("a"), undefined);
    assert.equal(counts.enter("a"), undefined);
    assert.equal(counts.enter("a"), "address_full");
    assert.equal(counts.enter("b"), undefined);
    assert.equal(counts.enter("c"), "listener_full");
    counts.leave("a");
    assert.equal(counts.enter("c"), undefined);
    assert.equal(counts.connections, 3);
    for (const address of ["a", "b", "c"]) counts.leave(address);
    assert.equal(counts.connections, 0);
    assert.equal(counts.enter("a"), undefined);
    assert.equal(counts.enter("a"), undefined);
  },
});

const PLANS: {
  name: string;
  max: number;
  perAddress?: number;
  descriptors?: number;
  each: number;
  address: number;
}[] = [
  { name: "enough descriptors", max: 16_384, each: 16_384, address: 4_096 },
  { name: "a bound of the address", max: 1_000, perAddress: 7, each: 1_000, address: 7 },
  { name: "no bound of the address", max: 1_000, perAddress: 0, each: 1_000, address: Infinity },
  { name: "1,000 descriptors", max: 16_384, descriptors: 1_000, each: 343, address: 85 },
  { name: "almost none", max: 16_384, descriptors: 150, each: 8, address: 2 },
  { name: "few that suffice", max: 100, descriptors: 1_000, each: 100, address: 25 },
];

for (const { name, max, perAddress, descriptors, each, address } of PLANS) {
  Deno.test({
    name:
      `planBounds with ${name}: ${each} connections of each of two listeners, ${address} of an address`,
    fn: () => {
      const settings = { maxConnections: max, maxConnectionsPerAddress: perAddress };
      const { bounds, warning } = planBounds(settings, { listeners: 2, descriptors });
      assert.deepEqual(bounds, { connectionsMax: each, connectionsPerAddressMax: address });
      assert.equal(warning !== undefined, each < max);
      if (descriptors !== undefined && each > 8) {
        assert.ok(2 * each + 64 <= 0.75 * descriptors, "files have a quarter");
      }
    },
  });
}

Deno.test({
  name: "the warning of few descriptors names them, the option, what is taken and the remedy",
  fn: () => {
    const settings = { maxConnections: 16_384, maxConnectionsPerAddress: undefined };
    const { warning = "" } = planBounds(settings, { listeners: 2, descriptors: 1_000 });
    for (const part of ["1000", "--max-connections", "343", "ulimit -n", "LimitNOFILE="]) {
      assert.ok(warning.includes(part), `${part} in: ${warning}`);
    }
  },
});

Deno.test({
  name:
    "a full listener closes the connection without a request that is oldest, never one with a request",
  fn: async () => {
    const begun = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    await using server = serve({
      hostname: "127.0.0.1",
      port: 0,
      bounds: { connectionsMax: 3, connectionsPerAddressMax: 99 },
      handler: async (request) => {
        if (request.url.endsWith("/slow")) {
          begun.resolve();
          await release.promise;
        }
        return new Response("ok");
      },
    });
    const { port } = server.address;
    const url = `http://127.0.0.1:${port}`;
    const slow = fetch(`${url}/slow`);
    await begun.promise;
    const [first, second] = [...await openMany(port, 1), ...await openMany(port, 1)];
    assert.ok(first !== undefined && second !== undefined);
    const ok = await fetch(url, { headers: { connection: "close" } });
    assert.equal(await ok.text(), "ok");
    assert.equal(await readAll(first), "");
    release.resolve();
    assert.equal(await (await slow).text(), "ok");
    for (const conn of [first, second]) conn.close();
  },
});

Deno.test({
  name:
    "a listener full of requests in flight, and an address at its bound, close the next connection",
  fn: async () => {
    const release = Promise.withResolvers<void>();
    let begun = 0;
    await using server = serve({
      hostname: "127.0.0.1",
      port: 0,
      bounds: { connectionsMax: 2, connectionsPerAddressMax: 99 },
      handler: async () => {
        begun += 1;
        await release.promise;
        return new Response("ok");
      },
    });
    const url = `http://127.0.0.1:${server.address.port}`;
    const slow = [fetch(`${url}/1`), fetch(`${url}/2`)];
    await until(() => begun === slow.length);
    const [third] = await openMany(server.address.port, 1);
    assert.ok(third !== undefined);
    assert.equal(await readAll(third), "");
    third.close();
    release.resolve();
    for (const answer of slow) assert.equal(await (await answer).text(), "ok");
  },
});

Deno.test({
  name:
    "an address at its bound gets a connection for one of its own that is idle, and for no other",
  fn: async () => {
    await using server = serve({
      hostname: "127.0.0.1",
      port: 0,
      bounds: { connectionsMax: 99, connectionsPerAddressMax: 2 },
      handler: () => new Response("ok"),
    });
    const { port } = server.address;
    const request = new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    const asked = async () => {
      const conn = await Deno.connect({ hostname: "127.0.0.1", port });
      await conn.write(request);
      const bytes = new Uint8Array(4_096);
      return { conn, answered: (await conn.read(bytes).catch(() => null) ?? 0) > 0 };
    };
    // Each stays open after its answer, as those of a client's pool do.
    const idle = [await asked(), await asked(), await asked()];
    assert.deepEqual(idle.map(({ answered }) => answered), [true, true, true]);
    assert.equal(await readAll(present(idle[0]).conn), "");
    // A connection that never asked anything is kept, so that nobody gains by opening more.
    for (const { conn } of idle) conn.close();
    const [silent] = await openMany(port, 1);
    const [other] = await openMany(port, 1);
    const { conn, answered } = await asked();
    assert.equal(answered, false);
    for (const one of [silent, other, conn]) one?.close();
  },
});

Deno.test({
  name: "a connection whose options cannot be set is served, and counted no longer than any other",
  fn: async () => {
    await using server = serve({
      hostname: "127.0.0.1",
      port: 0,
      bounds: { connectionsMax: 2, connectionsPerAddressMax: 2 },
      handler: () => new Response("ok"),
    });
    const url = `http://127.0.0.1:${server.address.port}`;
    const prototype = await tcpPrototype();
    const { setNoDelay } = prototype;
    prototype.setNoDelay = () => {
      throw new Deno.errors.NotConnected("lost");
    };
    try {
      for (let turn = 0; turn < 4; turn++) {
        const answer = await fetch(url, {
          headers: { connection: "close" },
          signal: AbortSignal.timeout(5_000),
        });
        assert.equal(await answer.text(), "ok");
      }
    } finally {
      prototype.setNoDelay = setNoDelay;
    }
  },
});

async function tcpPrototype(): Promise<Deno.TcpConn> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { hostname, port } = listener.addr as Deno.NetAddr;
  using conn = await Deno.connect({ hostname, port });
  return Object.getPrototypeOf(conn);
}
