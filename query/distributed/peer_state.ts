/** What is known of a peer. */

export const PEER_STATES = [
  "unknown",
  "ready",
  "self",
  "other_version",
  "refused",
  "unreachable",
] as const;
export type PeerState = typeof PEER_STATES[number];

/** Where a peer is: `host:port`, which also names it. */
export type PeerAddress = string;

/** A peer as `GET /debug/peers` has it. */
export interface PeerReport {
  readonly address: PeerAddress;
  readonly state: PeerState;
  readonly version: string | null;
  readonly instance_id: string | null;
  /** What went wrong last, also where it is over. */
  readonly last_error: string | null;
  /** Milliseconds since its last greeting that was answered; null: never. */
  readonly greeted_ms_ago: number | null;
}

/** How a server answers a greeting. */
export interface Greeting {
  readonly instance_id: string;
  readonly version: string;
}
