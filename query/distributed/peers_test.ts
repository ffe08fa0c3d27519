/** What a server knows of its peers, by the greetings that they answer. */

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import type { NameResolver } from "../../shared/os/resolve_name.ts";
import { PeerRefusal } from "./peer_client.ts";
import { peerNames } from "./peer_names.ts";
import type { Greeting } from "./peer_state.ts";
import { Peers } from "./peers.ts";

const SELF: Greeting = { instance_id: "own", version: "2.0.0" };

/** How a peer answers; an error is thrown. */
type Answer = Greeting | Error;

class Lab implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly greeted: string[] = [];
  readonly peers: Peers;

  constructor(
    readonly answers: Record<string, Answer>,
    settings: Parameters<typeof peerNames>[0] = { peers: Object.keys(answers) },
    /** What its name is looked up as. */
    public addresses: readonly string[] = [],
  ) {
    const resolve = (_name: string, type: string) =>
      type === "A" ? Promise.resolve([...this.addresses]) : Promise.resolve([]);
    this.peers = new Peers({
      names: peerNames(settings),
      resolve: resolve as NameResolver,
      self: SELF,
      clock: this.clock,
      client: {
        greet: (address) => {
          this.greeted.push(address);
          const answer = this.answers[address] ?? new Error("connection refused");
          return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
        },
      },
    });
  }

  states(): Record<string, string> {
    const { peers } = this.peers.report();
    return Object.fromEntries(peers.map(({ address, state }) => [address, state]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.peers[Symbol.asyncDispose]();
  }
}

const other = (instance_id: string, version = SELF.version): Greeting => ({ instance_id, version });

Deno.test({
  name: "Peers asks only those of its version that take its token, and tells what each one lacks",
  async fn() {
    await using lab = new Lab({
      "a:1": other("a"),
      "b:1": other("b", "1.9.0"),
      "c:1": SELF,
      "d:1": new PeerRefusal(403, "not_a_coordinator", "Cannot greet a server"),
      "e:1": new TypeError("fetch failed", { cause: new Error("connection refused") }),
    });
    await lab.clock.advance(0);
    deepStrictEqual(lab.peers.ready, ["a:1"]);
    strictEqual(lab.peers.self, "c:1");
    deepStrictEqual(lab.states(), {
      ...{ "a:1": "ready", "b:1": "other_version", "c:1": "self" },
      ...{ "d:1": "refused", "e:1": "unreachable" },
    });
    const told = lab.peers.report().peers.map((peer) => [peer.version, peer.last_error]);
    deepStrictEqual(told, [
      ["2.0.0", null],
      ["1.9.0", "it runs 1.9.0, and this server 2.0.0"],
      ["2.0.0", null],
      [null, "Cannot greet a server"],
      [null, "connection refused"],
    ]);
    match(lab.peers.problem(), /b:1 other_version \(it runs 1\.9\.0, and this server 2\.0\.0\)/);
  },
});

Deno.test({
  name: "Peers takes a server once it runs the same version, at the next greeting",
  async fn() {
    await using lab = new Lab({ "a:1": other("a", "1.9.0") });
    await lab.clock.advance(0);
    deepStrictEqual(lab.peers.ready, []);
    lab.answers["a:1"] = other("a");
    await lab.clock.advance(9_000);
    deepStrictEqual(lab.peers.ready, []);
    await lab.clock.advance(1_000);
    deepStrictEqual(lab.peers.ready, ["a:1"]);
  },
});

Deno.test({
  name: "Peers greets a server that lost a shard after 1 s, then 2, 4 and 8 s, until it answers",
  async fn() {
    await using lab = new Lab({ "a:1": other("a") });
    await lab.clock.advance(5_000);
    delete lab.answers["a:1"];
    lab.greeted.length = 0;
    lab.peers.failed("a:1", new Error("connection reset"));
    deepStrictEqual(lab.states(), { "a:1": "unreachable" });
    const greetings: number[] = [];
    for (let second = 1; second <= 16; second += 1) {
      await lab.clock.advance(1_000);
      if (lab.greeted.length > 0) greetings.push(second);
      lab.greeted.length = 0;
    }
    deepStrictEqual(greetings, [1, 3, 7, 15]);
    lab.answers["a:1"] = other("a");
    await lab.clock.advance(10_000);
    deepStrictEqual(lab.peers.ready, ["a:1"]);
    strictEqual(lab.peers.report().peers[0]?.last_error, "connection refused");
  },
});

Deno.test({
  name: "Peers looks names up every 10 s: new servers are greeted, and those that left forgotten",
  async fn() {
    await using lab = new Lab({ "10.0.0.1:5": other("a"), "10.0.0.2:5": other("b") }, {
      peers: [],
      peersDns: "query:5",
    }, ["10.0.0.1"]);
    await lab.clock.advance(0);
    deepStrictEqual(lab.peers.ready, ["10.0.0.1:5"]);
    lab.addresses = ["10.0.0.2"];
    await lab.clock.advance(9_000);
    deepStrictEqual(lab.peers.ready, ["10.0.0.1:5"]);
    await lab.clock.advance(1_000);
    deepStrictEqual(lab.peers.ready, ["10.0.0.2:5"]);
  },
});
