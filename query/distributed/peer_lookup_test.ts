/**
 * Peers by real answers of a name server, as `Deno.resolveDns` reads them. A process cannot be
 * pointed at a server of a test: it asks those of the system (`/etc/resolv.conf`).
 */

import { deepStrictEqual, match } from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { NameResolver } from "../../shared/os/resolve_name.ts";
import { lookUpPeers, peerNames } from "./peer_names.ts";

const TYPE = { A: 1, AAAA: 28, SRV: 33 } as const;
const NAME_ERROR = 3;

type Records = Readonly<Record<string, readonly (readonly [type: number, data: number[]])[]>>;

/** The name's letters as labels: RFC 1035, 3.1. */
function labels(name: string): number[] {
  const parts = name.split(".").filter((part) => part !== "");
  return [...parts.flatMap((part) => [part.length, ...new TextEncoder().encode(part)]), 0];
}

const u16 = (value: number) => [value >> 8, value & 0xff];

/** Answers over UDP until it is closed. */
class NameServer implements AsyncDisposable {
  readonly #socket = createSocket("udp4");

  private constructor(private records: Records) {
    this.#socket.on("message", (query, { port, address }) => {
      this.#socket.send(this.#answer(query), port, address);
    });
  }

  static async start(records: Records): Promise<NameServer> {
    const server = new NameServer(records);
    server.#socket.bind(0, "127.0.0.1");
    await once(server.#socket, "listening");
    return server;
  }

  resolver(): NameResolver {
    const { port } = this.#socket.address();
    const nameServer = { ipAddr: "127.0.0.1", port };
    // The overloads of both are the same.
    return ((name: string, type: "A") =>
      Deno.resolveDns(name, type, { nameServer })) as NameResolver;
  }

  become(records: Records): void {
    this.records = records;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#socket, "close");
    this.#socket.close();
    await closed;
  }

  /** RFC 1035, 4.1: the question again, and the records of its name and type. */
  #answer(query: Uint8Array): Uint8Array {
    const parts: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      parts.push(new TextDecoder().decode(query.subarray(at + 1, at + 1 + length)).toLowerCase());
      at += 1 + length;
    }
    const type = (query[at + 1] ?? 0) << 8 | (query[at + 2] ?? 0);
    const known = this.records[parts.join(".")];
    const found = (known ?? []).filter(([own]) => own === type);
    const flags = [0x84, known === undefined ? NAME_ERROR : 0];
    const answers = found.flatMap(([own, data]) => [
      ...[0xc0, 12, ...u16(own), ...u16(1), 0, 0, 0, 1],
      ...[...u16(data.length), ...data],
    ]);
    return Uint8Array.from([
      ...[...query.subarray(0, 2), ...flags, ...u16(1), ...u16(found.length), 0, 0, 0, 0],
      ...[...query.subarray(12, at + 5), ...answers],
    ]);
  }
}

const HEADLESS = "query-headless.svc.example";
const SERVICES = "_http._tcp.query.svc.example";
const srv = (target: string, port: number) => [0, 0, 0, 0, ...u16(port), ...labels(target)];

Deno.test({
  name: "lookUpPeers reads A, AAAA and SRV records of a name server, and finds what changes",
  async fn() {
    await using server = await NameServer.start({
      [HEADLESS]: [
        [TYPE.A, [10, 0, 0, 2]],
        [TYPE.A, [10, 0, 0, 1]],
        [TYPE.AAAA, [0xfd, ...Array.from({ length: 14 }, () => 0), 1]],
      ],
      [SERVICES]: [[TYPE.SRV, srv("query-1.svc.example", 8089)]],
    });
    const resolve = server.resolver();
    const headless = peerNames({ peers: [], peersDns: `${HEADLESS}.:8089` });
    deepStrictEqual(await lookUpPeers(headless, resolve), {
      addresses: ["10.0.0.1:8089", "10.0.0.2:8089", "[fd00::1]:8089"],
    });
    const services = peerNames({ peers: [], peersDns: `${SERVICES}.` });
    deepStrictEqual(await lookUpPeers(services, resolve), {
      addresses: ["query-1.svc.example:8089"],
    });
    server.become({ [HEADLESS]: [[TYPE.A, [10, 0, 0, 3]]] });
    deepStrictEqual(await lookUpPeers(headless, resolve), { addresses: ["10.0.0.3:8089"] });
    server.become({});
    const { addresses, failure = "" } = await lookUpPeers(headless, resolve);
    deepStrictEqual(addresses, []);
    match(failure, new RegExp(`^cannot look up ${HEADLESS}`));
  },
});
