/** What the server tells of itself: docs/api/query.md#status. */

export type Unit = "rows" | "bytes" | "requests" | "seconds" | "segments" | "statements";

export interface Series {
  readonly name: string;
  readonly role: string;
  readonly kind: "rate" | "gauge";
  readonly unit: Unit;
  readonly help: string;
  readonly values: readonly (number | null)[];
}

export interface Role {
  readonly role: string;
  readonly state: "up" | "away" | "not_configured";
}

/** What does not get on. */
export interface Stall {
  readonly role: string;
  readonly kind: "lane" | "sweep" | "thread" | "role";
  readonly name: string;
  readonly step?: string;
  readonly why: string;
  readonly since_ms: number;
}

/** `GET /api/v1/status`: docs/api/query.md#status. */
export interface Status {
  readonly every_secs: number;
  /** Unix milliseconds. */
  readonly times: readonly number[];
  readonly roles: readonly Role[];
  readonly series: readonly Series[];
  readonly stalls: readonly Stall[];
}
