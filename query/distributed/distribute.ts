/** Decides whether a statement runs on many servers, and why it does not. */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../../shared/base/errors.ts";
import type { NotShared } from "../../shared/engine/shards/spread.ts";
import type { PreparedQuery, QueryRequest } from "../../shared/engine/types.ts";
import { noPeers } from "../sql/no_peers.ts";
import { AloneStatement, ExplainedStatement } from "./alone_statement.ts";
import type { DistributionOptions, FannedFor, Wish } from "./distribution_options.ts";
import { FannedStatement } from "./fanned_statement.ts";

/** A plan waits so long for the first greeting of peers, right after the start. */
const FIRST_GREETING_MS_MAX = 3_000;

export class Distribution {
  constructor(private readonly options: DistributionOptions) {}

  /** Here, or on many servers. Errors: those of `Engine.prepare`; `no_peers`. */
  async prepare(request: QueryRequest, wish: Wish, made: FannedFor): Promise<PreparedQuery> {
    const { engine, peers } = this.options;
    if (wish === "always") {
      if (peers === undefined) throw noPeers("distribute the query", "send it to /api/v1/sql");
      return await this.#shared(request, made) ?? await engine.prepare(request);
    }
    if (wish === "told" && peers !== undefined) return await this.#told(request, made);
    if (wish === "never" || peers === undefined) return await engine.prepare(request);
    const prepareParts = (part: QueryRequest) => this.prepare(part, wish, made);
    const alone = await engine.prepare({ ...request, prepareParts });
    // Its parts are shared where they gain by it.
    if (alone.runsSubqueriesFirst === true || !this.#gains(alone)) return alone;
    const shared = await this.#shared(request, made, alone).catch(async (error) => {
      await alone[Symbol.asyncDispose]();
      throw error;
    });
    return shared ?? alone;
  }

  /** Whether much must come from the store, and nothing quicker answers. */
  #gains({ servedBy, storeBytes = 0, isOrdered = false }: PreparedQuery): boolean {
    return servedBy === "scan" && !isOrdered && storeBytes >= this.options.bytesMin;
  }

  /** The statement for its plan, which begins with how it would be shared, or why it would not. */
  async #told(request: QueryRequest, made: FannedFor): Promise<PreparedQuery> {
    const { engine } = this.options;
    // It gives its connection back before the other plan takes one.
    const planned = await this.#planned({ ...request, planOnly: false }, made);
    if (!(planned instanceof FannedStatement)) {
      await planned.alone?.[Symbol.asyncDispose]();
      return new AloneStatement(await engine.prepare(request), planned.reason);
    }
    await using shared = planned;
    const told = await shared.explain();
    const alone = await engine.prepare(request);
    return new ExplainedStatement(alone, `${told}\n${this.#byItself(alone)}`);
  }

  #byItself(alone: PreparedQuery): string {
    if (this.#gains(alone)) return "/api/v1/sql shares it";
    const { storeBytes = 0, isOrdered = false } = alone;
    const why = isOrdered
      ? "it reads just the first rows of an order"
      : `${storeBytes} bytes must come from the object store, and it shares from ` +
        `${this.options.bytesMin} on`;
    return `/api/v1/sql does not share it: ${why}`;
  }

  /** The statement on many servers, or alone with the reason. `alone` is given back or disposed. */
  async #shared(
    request: QueryRequest,
    made: FannedFor,
    alone?: PreparedQuery,
  ): Promise<PreparedQuery | undefined> {
    const { engine, metrics } = this.options;
    const planned = await this.#planned(request, made);
    if (planned instanceof FannedStatement) {
      await alone?.[Symbol.asyncDispose]();
      return planned;
    }
    metrics.fannedAlone.add(1, {});
    if (alone !== undefined) await planned.alone?.[Symbol.asyncDispose]();
    const here = alone ?? planned.alone ?? await engine.prepare(request);
    return new AloneStatement(here, planned.reason);
  }

  async #planned(
    request: QueryRequest,
    made: FannedFor,
  ): Promise<FannedStatement | NotShared> {
    const { engine, peers, clock, instanceId } = this.options;
    const { signal = new AbortController().signal } = request;
    if (engine.spread === undefined || peers === undefined) {
      return { reason: "it cannot be shared" };
    }
    await peers.greetedOnce(FIRST_GREETING_MS_MAX, signal);
    if (peers.ready.length === 0) return { reason: peers.problem() };
    const self = peers.self ?? instanceId;
    try {
      const spread = await engine.spread(request);
      if ("reason" in spread) return spread;
      return await FannedStatement.open(spread, {
        ...this.options,
        peers,
        request,
        made,
        self,
        startedMs: clock.monotonicMs(),
      });
    } catch (error) {
      // What is wrong with the statement is told by the one that runs here.
      if (!isOperatingError(error, "invalid_argument")) throw error;
      getLogger(["svc", "query"]).debug("not shared: {error}", { error: messageOf(error) });
      return { reason: `it cannot be cut: ${error.message}` };
    }
  }
}
