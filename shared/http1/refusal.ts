/** A request that is refused before any handler sees it: its bytes are no request, or too many. */

/** Values of the metrics' label `reason`. */
export const REFUSAL_REASONS = [
  "malformed",
  "head_too_large",
  "head_late",
  "not_supported",
  "http2",
] as const;

export type RefusalReason = typeof REFUSAL_REASONS[number];

export interface RefusalOptions {
  readonly status: number;
  readonly reason: RefusalReason;
}

export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly reason: RefusalReason;

  constructor(message: string, { status, reason }: RefusalOptions) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/** A 400 for a request that RFC 9112 does not allow; `message` says why. */
export function malformed(message: string): Refusal {
  return new Refusal(message, { status: 400, reason: "malformed" });
}
