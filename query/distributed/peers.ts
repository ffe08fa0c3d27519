/**
 * What this server knows of its peers: each is greeted every 10 s, and sooner after a failure. Only
 * those of its own version that take its token are asked for shards.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf, rootCauseOf } from "../../shared/base/errors.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { NameResolver } from "../../shared/os/resolve_name.ts";
import { lookUpPeers, type PeerNames } from "./peer_names.ts";
import { type PeerClient, PeerRefusal } from "./peer_client.ts";
import type { Greeting, PeerAddress, PeerReport, PeerState } from "./peer_state.ts";

const LOOK_MS = 10_000;
const GREETING_MS_MAX = 3_000;
const AGAIN_MS_MIN = 1_000;
const GREETINGS_AT_ONCE = 16;
/** More names than this are not looked after. */
const PEERS_MAX = 1_024;

interface KnownPeer {
  state: PeerState;
  greeting: Greeting | undefined;
  lastError: string | undefined;
  greetedMs: number | undefined;
  /** When it is greeted next, on the monotonic clock. */
  dueMs: number;
  failures: number;
}

export interface PeersOptions {
  readonly names: PeerNames;
  readonly client: Pick<PeerClient, "greet">;
  readonly resolve: NameResolver;
  /** How this server answers greetings. */
  readonly self: Greeting;
  readonly clock: Clock;
}

export class Peers implements AsyncDisposable {
  readonly #options: PeersOptions;
  readonly #peers = new Map<PeerAddress, KnownPeer>();
  readonly #end = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  readonly #looking: Promise<void>;
  #wake = Promise.withResolvers<void>();
  #lookUpFailure: string | undefined;

  constructor(options: PeersOptions) {
    this.#options = options;
    this.#looking = this.#look();
  }

  /** The address by which the peers know this server, if one of theirs answered as it. */
  get self(): PeerAddress | undefined {
    return [...this.#peers].find(([, { state }]) => state === "self")?.[0];
  }

  /** Peers that take shards, this server not among them. */
  get ready(): readonly PeerAddress[] {
    return [...this.#peers].filter(([, { state }]) => state === "ready").map(([address]) => address)
      .sort();
  }

  /** Waits until every peer was greeted once, or `ms` have passed. */
  async greetedOnce(ms: number, signal: AbortSignal): Promise<void> {
    const waiting = new AbortController();
    await Promise.race([
      this.#first.promise,
      this.#options.clock.sleep(ms, { signal: AbortSignal.any([signal, waiting.signal]) }),
    ]).finally(() => waiting.abort()).catch(() => {});
  }

  count(state: PeerState): number {
    return this.#peers.values().filter((peer) => peer.state === state).toArray().length;
  }

  /** In the order of their addresses. */
  report(): { readonly peers: readonly PeerReport[]; readonly lookup_error: string | null } {
    const nowMs = this.#options.clock.monotonicMs();
    const peers = [...this.#peers].map(([address, peer]) => ({
      address,
      state: peer.state,
      version: peer.greeting?.version ?? null,
      instance_id: peer.greeting?.instance_id ?? null,
      last_error: peer.lastError ?? null,
      greeted_ms_ago: peer.greetedMs === undefined ? null : Math.round(nowMs - peer.greetedMs),
    })).sort((a, b) => a.address < b.address ? -1 : 1);
    return { peers, lookup_error: this.#lookUpFailure ?? null };
  }

  /** Why no peer is ready, in a sentence. */
  problem(): string {
    const told = this.report().peers.filter(({ state }) => state !== "self")
      .map(({ address, state, last_error: error }) =>
        `${address} ${state}${error === null ? "" : ` (${error})`}`
      );
    const all = [...this.#lookUpFailure === undefined ? [] : [this.#lookUpFailure], ...told];
    return `no peer is ready: ${all.slice(0, 4).join("; ") || "there is none besides this server"}`;
  }

  /** A shard was lost there: nothing is asked of it until it answers a greeting again. */
  failed(address: PeerAddress, error: unknown): void {
    const peer = this.#peers.get(address);
    if (peer === undefined || peer.state !== "ready") return;
    this.#fail(peer, error);
    this.#wake.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("the server stops"));
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#end;
    let lookUpMs = -Infinity;
    while (!signal.aborted) {
      if (clock.monotonicMs() - lookUpMs >= LOOK_MS) {
        lookUpMs = clock.monotonicMs();
        await this.#lookUp();
      }
      await this.#greetDue();
      this.#first.resolve();
      const nowMs = clock.monotonicMs();
      const dueMs = Math.min(lookUpMs + LOOK_MS, ...this.#peers.values().map((one) => one.dueMs));
      this.#wake = Promise.withResolvers();
      await Promise.race([
        clock.sleep(Math.max(10, dueMs - nowMs), { signal }).catch(() => {}),
        this.#wake.promise,
      ]);
    }
  }

  async #lookUp(): Promise<void> {
    const { names, resolve, clock } = this.#options;
    const { addresses, failure } = await lookUpPeers(names, resolve);
    this.#lookUpFailure = failure;
    // Names that cannot be looked up now may still be there.
    if (failure === undefined) {
      for (const known of this.#peers.keys()) {
        if (!addresses.includes(known)) this.#peers.delete(known);
      }
    }
    for (const address of addresses.slice(0, PEERS_MAX)) {
      if (this.#peers.has(address)) continue;
      this.#peers.set(address, {
        state: "unknown",
        greeting: undefined,
        lastError: undefined,
        greetedMs: undefined,
        dueMs: clock.monotonicMs(),
        failures: 0,
      });
    }
  }

  async #greetDue(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    const due = [...this.#peers].filter(([, peer]) => peer.dueMs <= nowMs);
    const worker = async () => {
      for (let next = due.shift(); next !== undefined; next = due.shift()) {
        await this.#greet(...next);
      }
    };
    await Promise.all(Array.from({ length: GREETINGS_AT_ONCE }, worker));
  }

  async #greet(address: PeerAddress, peer: KnownPeer): Promise<void> {
    const { client, clock, self } = this.#options;
    const late = AbortSignal.timeout(GREETING_MS_MAX);
    try {
      const greeting = await client.greet(address, AbortSignal.any([this.#end.signal, late]));
      peer.greeting = greeting;
      peer.greetedMs = clock.monotonicMs();
      peer.dueMs = peer.greetedMs + LOOK_MS;
      peer.failures = 0;
      const isSame = greeting.version === self.version;
      if (!isSame) peer.lastError = `it runs ${greeting.version}, and this server ${self.version}`;
      const isSelf = greeting.instance_id === self.instance_id;
      this.#become(address, peer, isSelf ? "self" : isSame ? "ready" : "other_version");
    } catch (error) {
      if (this.#end.signal.aborted) return;
      const before = peer.state;
      this.#fail(peer, late.aborted ? new Error(`no answer in ${GREETING_MS_MAX} ms`) : error);
      tell(address, before, peer);
    }
  }

  #fail(peer: KnownPeer, error: unknown): void {
    const { clock } = this.#options;
    const isRefused = error instanceof PeerRefusal && error.status >= 400 && error.status < 500 &&
      error.status !== 429;
    peer.state = isRefused ? "refused" : "unreachable";
    peer.lastError = messageOf(rootCauseOf(error));
    peer.dueMs = clock.monotonicMs() +
      Math.min(LOOK_MS, AGAIN_MS_MIN * 2 ** Math.min(peer.failures, 10));
    peer.failures += 1;
  }

  #become(address: PeerAddress, peer: KnownPeer, state: PeerState): void {
    const before = peer.state;
    peer.state = state;
    tell(address, before, peer);
  }
}

function tell(address: PeerAddress, before: PeerState, { state, lastError }: KnownPeer): void {
  if (before === state) return;
  const log = getLogger(["svc", "query"]);
  if (state === "ready" || state === "self") {
    log.info("peer {address} is {state}", { address, state });
  } else {
    log.warning("peer {address} is {state}: {error}", { address, state, error: lastError ?? "" });
  }
}
