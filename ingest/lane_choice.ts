/**
 * Which lane a request's rows go to: the caller's tenant, and the index that a header names.
 *
 * A refused request opens no lane and takes no tenant in: `choose` only reads the head, `admit`
 * counts lane and tenant once the rows are known to be good.
 */

import { OperatingError } from "../shared/base/errors.ts";
import { EVENTS_TABLE } from "../shared/schema/events.ts";
import { type LaneId, laneName } from "../shared/tenant/tenant.ts";
import type { RequestFields } from "./admission.ts";
import { indexNameFault } from "./index_name.ts";
import type { IngestMetrics } from "./metrics.ts";
import type { TenantGate } from "./tenant_gate.ts";

export class LaneChoice {
  readonly #lanesMax: number;
  readonly #tenants: TenantGate;
  readonly #metrics: Pick<IngestMetrics, "laneRefused">;
  readonly #held = new Map<string, HeldLane>();

  /** `lanesMax` 0 is no bound. */
  constructor(
    lanesMax: number,
    parts: { tenants: TenantGate; metrics: Pick<IngestMetrics, "laneRefused"> },
  ) {
    this.#lanesMax = lanesMax;
    this.#tenants = parts.tenants;
    this.#metrics = parts.metrics;
  }

  /** The lane of `tenant` that the request's head names. Errors: `invalid_argument` (index). */
  choose(head: RequestFields, tenant: string): LaneId {
    const index = head.get("x-svc-index");
    if (index === null || index === EVENTS_TABLE) return { tenant, index: EVENTS_TABLE };
    const fault = indexNameFault(index);
    if (fault !== undefined) {
      throw new OperatingError(
        "invalid_argument",
        `cannot write logs to index ${JSON.stringify(index)} of header x-svc-index: ${fault}`,
        { reason: "bad_index_name" },
      );
    }
    return { tenant, index };
  }

  /** Whether rows of `lane` were stored in this process. */
  isOpen(lane: LaneId): boolean {
    return this.#held.get(laneName(lane))?.isKept === true;
  }

  /**
   * A place for `lane`, and for its tenant: for good once one of its places is kept, else until the
   * last is disposed. Errors: `unavailable` without a retry hint when the lane is one too many;
   * those of the tenants' gate.
   */
  admit(lane: LaneId): LanePlace {
    const name = laneName(lane);
    let held = this.#held.get(name);
    if (held?.isKept === true) return KEPT_PLACE;
    held ??= this.#hold(name, lane.tenant);
    return this.#place(name, { held, tenant: lane.tenant });
  }

  #hold(name: string, tenant: string): HeldLane {
    if (this.#lanesMax > 0 && this.#held.size >= this.#lanesMax) {
      this.#metrics.laneRefused.add(1, {});
      throw new OperatingError(
        "unavailable",
        `cannot open lane ${name}: this server has its ${this.#lanesMax} lanes ` +
          `(--ingest-max-lanes); write to one of those`,
        { reason: "lane_cap" },
      );
    }
    this.#tenants.admit(tenant);
    const held = { isKept: false, places: 0 };
    this.#held.set(name, held);
    return held;
  }

  #place(name: string, { held, tenant }: { held: HeldLane; tenant: string }): LanePlace {
    held.places += 1;
    return {
      keep: () => void (held.isKept = true),
      [Symbol.dispose]: () => {
        held.places -= 1;
        if (held.isKept || held.places > 0) return;
        this.#held.delete(name);
        this.#tenants.leave(tenant);
      },
    };
  }
}

/** A request's part of a lane that is not known to be open. */
export interface LanePlace extends Disposable {
  /** The lane is open: it counts until this process ends. */
  keep(): void;
}

interface HeldLane {
  isKept: boolean;
  places: number;
}

const KEPT_PLACE: LanePlace = { keep() {}, [Symbol.dispose]() {} };
