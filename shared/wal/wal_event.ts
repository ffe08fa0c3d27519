/** What a WAL tells its owner: the source of metrics and log lines, and of when work may go on. */

import type { LaneId } from "../tenant/tenant.ts";
import type { Salvaged } from "./salvage.ts";
import type { AckMode } from "./types.ts";

export type WalEvent =
  /** Rows were acknowledged. */
  | {
    readonly kind: "appended";
    readonly lane: LaneId;
    readonly rows: number;
    readonly bytes: number;
    readonly mode: AckMode;
  }
  /** `appends` are written together; the first of them has waited `waitMs` for that. */
  | {
    readonly kind: "grouped";
    readonly lane: LaneId;
    readonly appends: number;
    readonly waitMs: number;
  }
  /** A sync runs that `appends` wait for; `ended` rejects where it fails. */
  | {
    readonly kind: "syncing";
    readonly lane: LaneId;
    readonly appends: number;
    readonly ended: Promise<unknown>;
  }
  /** One group commit: a sync that took `ms`. */
  | { readonly kind: "synced"; readonly lane: LaneId; readonly ms: number }
  | {
    readonly kind: "sealed";
    readonly lane: LaneId;
    readonly segment: string;
    readonly rows: number;
    readonly bytes: number;
  }
  /** A segment was taken over, at start or after a failure. */
  | ({ readonly kind: "salvaged" } & Salvaged)
  /** The lane refuses rows until `healed`. */
  | { readonly kind: "failed"; readonly lane: LaneId; readonly error: unknown }
  | { readonly kind: "healed"; readonly lane: LaneId };

export type WalEventListener = (event: WalEvent) => void;
