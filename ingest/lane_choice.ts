/**
 * Which lane a request's rows go to: tenant and index, both named by headers.
 *
 * The server is single-tenant here (SPEC.md section 5, rule 1). A refused request opens no lane:
 * `choose` only reads the headers, `admit` counts the lane once the rows are known to be good.
 */

import { OperatingError } from "../shared/base/errors.ts";
import { EVENTS_TABLE } from "../shared/event/events.ts";
import { DEFAULT_TENANT, type LaneId, laneName } from "../shared/event/tenant.ts";
import type { IngestMetrics } from "./metrics.ts";

const INDEX_NAME = /^[a-z0-9][a-z0-9._-]{0,127}$/;
/** Tables with columns of their own that log rows do not have. */
const RESERVED_INDEXES: ReadonlySet<string> = new Set(["traces", "query_audit"]);

const EVENTS_LANE: LaneId = { tenant: DEFAULT_TENANT, index: EVENTS_TABLE };

export class LaneChoice {
  readonly #lanesMax: number;
  readonly #metrics: Pick<IngestMetrics, "tenantDenied" | "laneRefused">;
  readonly #admitted = new Set<string>();

  /** `lanesMax` 0 is no bound. */
  constructor(
    lanesMax: number,
    metrics: Pick<IngestMetrics, "tenantDenied" | "laneRefused">,
  ) {
    this.#lanesMax = lanesMax;
    this.#metrics = metrics;
  }

  /**
   * The lane that the headers name. Errors: `permission_denied` (tenant), `invalid_argument`
   * (index).
   */
  choose(headers: Headers): LaneId {
    const tenant = headers.get("x-scope-orgid");
    if (tenant !== null && tenant !== DEFAULT_TENANT) {
      this.#metrics.tenantDenied.add(1, { reason: "header_not_trusted" });
      throw new OperatingError(
        "permission_denied",
        `cannot write for tenant ${
          JSON.stringify(tenant)
        }: this server is single-tenant and does not trust ` +
          `X-Scope-OrgID; drop the header or send ${DEFAULT_TENANT}`,
        { reason: "header_not_trusted" },
      );
    }
    const index = headers.get("x-svc-index");
    if (index === null || index === EVENTS_TABLE) return EVENTS_LANE;
    if (!INDEX_NAME.test(index) || RESERVED_INDEXES.has(index)) {
      throw new OperatingError(
        "invalid_argument",
        `cannot write logs to index ${JSON.stringify(index)} of header x-svc-index: ` +
          (RESERVED_INDEXES.has(index)
            ? "that name is reserved"
            : `names match ${INDEX_NAME.source}`),
        { reason: "bad_index_name" },
      );
    }
    return { tenant: DEFAULT_TENANT, index };
  }

  /** Takes `lane` into use. Errors: `unavailable` without a retry hint when it is one too many. */
  admit(lane: LaneId): void {
    const name = laneName(lane);
    if (this.#admitted.has(name)) return;
    if (this.#lanesMax > 0 && this.#admitted.size >= this.#lanesMax) {
      this.#metrics.laneRefused.add(1, {});
      throw new OperatingError(
        "unavailable",
        `cannot open lane ${name}: this server has its ${this.#lanesMax} lanes ` +
          `(--ingest-max-lanes); write to one of those`,
        { reason: "lane_cap" },
      );
    }
    this.#admitted.add(name);
  }
}
