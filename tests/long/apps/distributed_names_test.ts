/**
 * Servers that find each other by DNS, as behind a headless service: A, AAAA and SRV records of a
 * name server that their `/etc/resolv.conf` names. Each process has that file of its own, which
 * takes the right to mount.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { makeDataFolders } from "../../../cli/data_folders.ts";
import { processArguments } from "../../../cli/permissions.ts";
import { present } from "../../../shared/base/assert.ts";
import { freePorts } from "../../../shared/testing/free_ports.ts";
import { NAME_PORT, type NameRecords, NameServer } from "../../../shared/testing/name_server.ts";
import { until } from "../../../shared/testing/until.ts";
import { YIELD_LITTLE_ENV } from "../../../shared/testing/yield_little.ts";
import { ask, FLEET_ARGS, openSharedEvents, STATEMENTS } from "../../apps/shared_events.ts";
import { MAY_MOUNT } from "../../apps/small_disk.ts";

const NAME = "query-headless.svc.example";
const SERVICES = "_http._tcp.query.svc.example";
const HOSTS = ["query-1.svc.example", "query-2.svc.example"];
/** Loopback has 16 million addresses; whoever else asks for names here has another one. */
const NAME_ADDRESS = `127.${1 + Deno.pid % 250}.${1 + (Deno.pid >> 8) % 250}.53`;
/** Longer than the time between two look-ups, on a machine that has other work. */
const FOUND_MS = 90_000;
const absent = MAY_MOUNT ? "" : " (ignored: mounting is not allowed)";

/** A server that asks our name server. */
class NamedServer implements AsyncDisposable {
  private constructor(
    readonly url: string,
    private readonly process: Deno.ChildProcess,
  ) {}

  static start(
    dataDir: string,
    { address, peersDns, resolvConf }: {
      readonly address: string;
      readonly peersDns: string;
      readonly resolvConf: string;
    },
  ): NamedServer {
    const [metricsPort] = freePorts(1);
    const own = processArguments("query", dataDir, [
      ...["--bind", address, "--metrics-bind", `127.0.0.1:${metricsPort}`, "--audit-disabled"],
      ...["--peers-dns", peersDns, "--cache-dir", `cache-${metricsPort}`, ...FLEET_ARGS],
      // On loopback an open server answers to no other names.
      ...["--allowed-hosts", HOSTS.join()],
    ]);
    const inside = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"';
    const process = new Deno.Command("unshare", {
      args: [
        ...["--mount", "--propagation", "private", "sh", "-c", inside, "sh", resolvConf],
        ...[Deno.execPath(), ...own],
      ],
      env: YIELD_LITTLE_ENV,
      stdout: "null",
      stderr: "null",
    }).spawn();
    return new NamedServer(`http://${address}`, process);
  }

  /** `address state` of each peer, in the order of their addresses. */
  async peers(): Promise<string[]> {
    const response = await fetch(`${this.url}/debug/peers`).catch(() => undefined);
    if (response === undefined) return [];
    const { peers } = await response.json() as {
      readonly peers: readonly { readonly address: string; readonly state: string }[];
    };
    return peers.map(({ address, state }) => `${address} ${state}`);
  }

  /** Waits until it has these peers. */
  async finds(wanted: readonly string[]): Promise<void> {
    const isSame = async () => (await this.peers()).join() === wanted.join();
    await until(isSame, { msMax: FOUND_MS, pollMs: 200 })
      .catch(async () => assert.deepEqual(await this.peers(), wanted));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill("SIGKILL");
    await this.process.status;
  }
}

Deno.test({
  name: `servers find each other by A, AAAA and SRV records, also new ones${absent}`,
  ignore: !MAY_MOUNT,
  async fn() {
    await using lab = await openSharedEvents();
    await makeDataFolders(lab.dir);
    const resolvConf = join(lab.dir, "resolv.conf");
    await Deno.writeTextFile(resolvConf, `nameserver ${NAME_ADDRESS}\n`);
    const [port = 0] = freePorts(1);
    const [first, second, third] = [`127.0.0.2:${port}`, `127.0.0.3:${port}`, `[::1]:${port}`];
    const [alone, both]: NameRecords[] = [{ a: ["127.0.0.2"] }, {
      a: ["127.0.0.3", "127.0.0.2"],
      aaaa: ["::1"],
    }];
    await using names = await NameServer.start({ [NAME]: alone ?? {} }, {
      address: NAME_ADDRESS,
      port: NAME_PORT,
    });
    const start = (address: string, peersDns = `${NAME}:${port}`) =>
      NamedServer.start(lab.dir, { address, peersDns, resolvConf });
    await using one = start(first);
    await one.finds([`${first} self`]);
    const sql = present(STATEMENTS[0]);
    const { rows, stats } = await ask(one.url, "/distributed", sql);
    assert.match(stats.phases.distributed?.reason ?? "", /^no peer is ready: there is none/);

    await using two = start(second);
    await using three = start(third);
    names.become({ [NAME]: both ?? {} });
    const states = (self: string) =>
      [first, second, third].map((one) => `${one} ${one === self ? "self" : "ready"}`);
    for (const [server, self] of [[one, first], [two, second], [three, third]] as const) {
      await server.finds(states(self));
    }
    const shared = await ask(three.url, "/distributed", sql);
    assert.deepEqual(shared.rows, rows);
    const asked = new Set(shared.stats.phases.distributed?.shards?.map(({ server }) => server));
    assert.deepEqual([...asked].sort(), [first, second, third]);

    // A name that is gone for a while takes no peer away; an address that is gone does.
    names.become({});
    await until(async () => {
      const response = await fetch(`${one.url}/debug/peers`);
      return (await response.json()).lookup_error !== null;
    }, { msMax: FOUND_MS, pollMs: 200 });
    await one.finds(states(first));
    names.become({
      [NAME]: { a: ["127.0.0.2", "127.0.0.3"] },
      [SERVICES]: { srv: HOSTS.map((host) => `${host}:${port}`) },
      ...Object.fromEntries(HOSTS.map((host, at) => [host, { a: [`127.0.0.${2 + at}`] }])),
    });
    await one.finds(states(first).slice(0, 2));

    const [other = 0] = freePorts(1);
    await using four = start(`127.0.0.4:${other}`, SERVICES);
    await four.finds(HOSTS.map((host) => `${host}:${port} ready`));
    assert.deepEqual((await ask(four.url, "/distributed", sql)).rows, rows);
  },
});
