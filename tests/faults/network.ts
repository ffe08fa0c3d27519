/**
 * A network of hosts that can be parted, for one round. Each host is a network namespace with a
 * link to the run's own, which routes between them. Services listen there, each at an address of
 * its own. Parted, packets from one to the other vanish: no connection breaks, nothing is refused.
 *
 *     ingest ─────┐
 *     compactor ──┼── the run's namespace: routes, and has the services' addresses
 *     query ──────┘
 *
 * Names and addresses are free there, since a run has its namespaces to itself (`namespace.ts`).
 */

import { run, succeeds } from "./commands.ts";

/** Where `ip netns` keeps namespaces. */
const NAMESPACES = "/run/netns";
/** Rules are asked by this order: what is parted before what is local. */
const PARTED = "50";
const LOCAL = "100";

export class Network implements AsyncDisposable {
  readonly #hosts: readonly string[];
  readonly #services: readonly string[];

  private constructor(hosts: readonly string[], services: readonly string[]) {
    this.#hosts = hosts;
    this.#services = services;
  }

  /** Names have eleven characters at most: they are names of links, too. */
  static async create(hosts: readonly string[], services: readonly string[]): Promise<Network> {
    const network = new Network(hosts, services);
    try {
      await network.#build();
    } catch (error) {
      await network[Symbol.asyncDispose]();
      throw error;
    }
    return network;
  }

  /** IPv4 address of a host or a service. */
  addressOf(name: string): string {
    const service = this.#services.indexOf(name);
    if (service >= 0) return `10.77.0.${service + 1}`;
    return `10.77.${this.#hosts.indexOf(name) + 1}.2`;
  }

  /** A command that runs the one behind it on `host`. */
  launcherOf(host: string): readonly string[] {
    return ["ip", "netns", "exec", host];
  }

  /** From now on nothing that `from` sends reaches `to`. */
  async part(from: string, to: string): Promise<void> {
    await this.#rule("add", from, to);
  }

  /** Undoes `part`. */
  async join(from: string, to: string): Promise<void> {
    await this.#rule("del", from, to);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    while (await succeeds("ip", "rule", "del", "pref", PARTED));
    // A link goes with the namespace of its other end, once no process is there.
    for (const host of this.#hosts) await succeeds("ip", "netns", "del", host);
    for (const host of this.#hosts) await succeeds("ip", "link", "del", linkOf(host));
    for (const service of this.#services) {
      await succeeds("ip", "addr", "del", `${this.addressOf(service)}/32`, "dev", "lo");
    }
  }

  async #rule(what: "add" | "del", from: string, to: string): Promise<void> {
    const addresses = ["from", this.addressOf(from), "to", this.addressOf(to)];
    await run("ip", "rule", what, "pref", PARTED, ...addresses, "blackhole");
  }

  async #build(): Promise<void> {
    await prepareNamespace();
    for (const service of this.#services) {
      await run("ip", "addr", "add", `${this.addressOf(service)}/32`, "dev", "lo");
    }
    for (const host of this.#hosts) {
      const address = this.addressOf(host);
      const gateway = address.replace(/2$/, "1");
      const link = linkOf(host);
      const inHost = (...args: string[]) => run("ip", "-n", host, ...args);
      await run("ip", "netns", "add", host);
      await run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", host);
      await run("ip", "addr", "add", `${gateway}/30`, "dev", link);
      await run("ip", "link", "set", link, "up");
      await inHost("addr", "add", `${address}/30`, "dev", "eth0");
      for (const device of ["lo", "eth0"]) await inHost("link", "set", device, "up");
      await inHost("route", "add", "default", "via", gateway);
    }
  }
}

function linkOf(host: string): string {
  return `to-${host}`;
}

/** Once in a run: hosts reach each other through it, and rules may come before what is local. */
async function prepareNamespace(): Promise<void> {
  await Deno.writeTextFile("/proc/sys/net/ipv4/ip_forward", "1");
  if (!await succeeds("mountpoint", "--quiet", NAMESPACES)) {
    await Deno.mkdir(NAMESPACES, { recursive: true });
    await run("mount", "-t", "tmpfs", "svc-netns", NAMESPACES);
  }
  const first = `${LOCAL}:`;
  if ((await run("ip", "rule", "list")).startsWith(first)) return;
  await run("ip", "rule", "add", "pref", LOCAL, "lookup", "local");
  await run("ip", "rule", "del", "pref", "0");
}
