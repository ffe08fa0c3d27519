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

/** `GET /api/v1/status`: docs/api/query.md#status. */
export interface Status {
  readonly every_secs: number;
  /** Unix milliseconds. */
  readonly times: readonly number[];
  readonly roles: readonly Role[];
  readonly series: readonly Series[];
}
