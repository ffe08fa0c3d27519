/**
 * A name server of a test: RFC 1035 over UDP, as far as A, AAAA and SRV records go. It answers
 * until it is closed, and what it answers may change.
 */

import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { NameResolver } from "../os/resolve_name.ts";

const TYPE = { a: 1, aaaa: 28, srv: 33 } as const;
type RecordType = keyof typeof TYPE;
const NAME_ERROR = 3;
/** Where the system's resolver asks the servers of `/etc/resolv.conf`. */
export const NAME_PORT = 53;

/** What is known of a name. */
export interface NameRecords {
  readonly a?: readonly string[];
  readonly aaaa?: readonly string[];
  /** Each `target:port`. */
  readonly srv?: readonly string[];
}

/** By lower-cased names without a dot at the end; of others there is none. */
export type Names = Readonly<Record<string, NameRecords>>;

/** Answers for `Names`. Disposing it closes its socket. */
export class NameServer implements AsyncDisposable {
  readonly #socket = createSocket("udp4");

  private constructor(private names: Names) {
    this.#socket.on("message", (query, { port, address }) => {
      this.#socket.send(this.#answer(query), port, address);
    });
  }

  /** Errors: those of `bind`; ports below 1024 take a right. */
  static async start(
    names: Names,
    { address = "127.0.0.1", port = 0 }: { readonly address?: string; readonly port?: number } = {},
  ): Promise<NameServer> {
    const server = new NameServer(names);
    const listening = once(server.#socket, "listening");
    server.#socket.bind(port, address);
    await listening;
    return server;
  }

  /** Asks this server. */
  resolver(): NameResolver {
    const { address: ipAddr, port } = this.#socket.address();
    // The overloads of both are the same.
    return ((name: string, type: "A") =>
      Deno.resolveDns(name, type, { nameServer: { ipAddr, port } })) as NameResolver;
  }

  become(names: Names): void {
    this.names = names;
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
    const known = this.names[parts.join(".")];
    const kind = (Object.keys(TYPE) as RecordType[]).find((one) => TYPE[one] === type);
    const found = kind === undefined ? [] : known?.[kind]?.map((text) => DATA[kind](text)) ?? [];
    const flags = [0x84, known === undefined ? NAME_ERROR : 0];
    const answers = found.flatMap((data) => [
      ...[0xc0, 12, ...u16(type), ...u16(1), 0, 0, 0, 1],
      ...[...u16(data.length), ...data],
    ]);
    return Uint8Array.from([
      ...[...query.subarray(0, 2), ...flags, ...u16(1), ...u16(found.length), 0, 0, 0, 0],
      ...[...query.subarray(12, at + 5), ...answers],
    ]);
  }
}

const DATA: Readonly<Record<RecordType, (text: string) => readonly number[]>> = {
  a: (text) => text.split(".").map(Number),
  aaaa(text) {
    const [head = [], tail = []] = text.split("::").map((half) =>
      half.split(":").filter((group) => group !== "").flatMap((group) => u16(parseInt(group, 16)))
    );
    return [...head, ...Array.from({ length: 16 - head.length - tail.length }, () => 0), ...tail];
  },
  srv(text) {
    const [target = "", port = ""] = text.split(":");
    return [0, 0, 0, 0, ...u16(Number(port)), ...labels(target)];
  },
};

/** The name's letters as labels: RFC 1035, 3.1. */
function labels(name: string): number[] {
  const parts = name.split(".").filter((part) => part !== "");
  return [...parts.flatMap((part) => [part.length, ...new TextEncoder().encode(part)]), 0];
}

function u16(value: number): number[] {
  return [value >> 8, value & 0xff];
}
