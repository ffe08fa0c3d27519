/**
 * The way of documents from a request to durable rows, for `_bulk` and for single ones alike.
 *
 * Order: who may write, other headers, then the body, and once all of it is there, append. The
 * documents of one index are one frame of its lane: all of them or none. Indexes do not share a
 * fate. When some lanes took their rows and others did not, the items of the others say 429, "send
 * again". When none did, the request as a whole is refused and nothing was stored.
 */

import { refuseAnnounced } from "../../shared/http/body.ts";
import type { BodyStreamLimits } from "../../shared/http/body_stream.ts";
import type { BodyCap } from "../../shared/http/body_too_large.ts";
import type { ByteBudget, ByteHold } from "../../shared/base/byte_budget.ts";
import { type Late, withDeadline } from "../../shared/base/with_deadline.ts";
import { asOperatingError } from "../../shared/http/error_response.ts";
import type { LaneId } from "../../shared/tenant/tenant.ts";
import type { Random } from "../../shared/os/random.ts";
import type { FrameKey } from "../../shared/wal/frame_key.ts";
import type { Admission, Peer } from "../admission.ts";
import { type AppendDeps, appendRows } from "../append_rows.ts";
import { type CommitMode, commitModeOf } from "../commit_mode.ts";
import { requireJsonType } from "../compat/compat_media_type.ts";
import { compatErrorType } from "../compat/compat_reply.ts";
import { LIMITS } from "../flags.ts";
import { idempotencyOf } from "../idempotency.ts";
import type { IngestMetrics } from "../metrics.ts";
import type { BulkOptions, DecodedBulk, IndexRows } from "./bulk_request.ts";
import type { BulkItem } from "./bulk_items.ts";
import type { DocumentBuilders } from "./document_builders.ts";

export interface BulkDeps extends AppendDeps {
  /** Returns once the rows of a segment are committed: `commit=force`. */
  readonly forceCommit: (lane: LaneId, segment: string) => Promise<void>;
  /** Whether it can see a commit; undefined: it can. */
  readonly canForce?: boolean;
  readonly admission: Pick<Admission, "admit">;
  readonly metrics: IngestMetrics;
  readonly random: Random;
  readonly builders: DocumentBuilders;
  readonly bodies: ByteBudget;
  readonly bodyCap: BodyCap;
  /** From the head of a request to its rows' durability. */
  readonly requestMsMax: number;
}

/** What the router knows of a request besides itself. */
export interface DocumentsTarget {
  /** What follows the question mark. */
  readonly query: string;
  readonly peer: Peer;
  /** From the path `/{index}/_bulk`. */
  readonly pathIndex: string | undefined;
}

/** How a body becomes rows. */
export interface DocumentsForm {
  /** For messages: "a bulk request". */
  readonly what: string;
  readonly decode: (request: Request, parts: DecodeParts) => Promise<DecodedBulk>;
}

export interface DecodeParts {
  readonly limits: BodyStreamLimits;
  /** To be told of each decoded byte of the body, in order. */
  readonly see: (piece: Uint8Array) => void;
  readonly options: BulkOptions;
}

/** What became of the documents; its receiver disposes it once nobody needs the items. */
export interface WrittenDocuments extends Disposable {
  readonly items: readonly BulkItem[];
}

/**
 * Stores the documents of `request` as durably as it asks. Errors: those of the request as a whole.
 */
export async function writeDocuments(
  request: Request,
  form: DocumentsForm,
  { target, deps }: { target: DocumentsTarget; deps: BulkDeps },
): Promise<WrittenDocuments> {
  const deadline = {
    msMax: deps.requestMsMax,
    what: "the documents did not arrive or were not made durable (they may still be stored)",
  };
  const { mode, stored, items, hold } = await withDeadline(
    deadline,
    (late) => store(request, form, { target, late, deps }),
  );
  using holding = new DisposableStack();
  holding.use(hold);
  // Before the wait: the rows are durable even when their commit is not seen in time.
  count(items, deps.metrics);
  if (mode === "force") {
    await Promise.all(stored.map(({ lane, segment }) => deps.forceCommit(lane, segment)));
  }
  const kept = holding.move();
  return { items, [Symbol.dispose]: () => kept.dispose() };
}

interface StoreOptions {
  readonly target: DocumentsTarget;
  /** Ends a body that does not arrive in time. */
  readonly late: Late;
  readonly deps: BulkDeps;
}

interface StoredLane {
  readonly lane: LaneId;
  readonly segment: string;
}

interface StoredDocuments {
  readonly mode: CommitMode;
  readonly stored: readonly StoredLane[];
  readonly items: readonly BulkItem[];
  /** For the rows and the items; its receiver disposes it. */
  readonly hold: ByteHold;
}

async function store(
  request: Request,
  form: DocumentsForm,
  { target, late, deps }: StoreOptions,
): Promise<StoredDocuments> {
  const { headers } = request;
  const tenant = await deps.admission.admit(headers, target.peer);
  requireJsonType(headers.get("content-type"), form.what);
  const mode = commitModeOf(target.query, headers.get("x-svc-commit"), deps);
  const key = idempotencyOf(headers, deps.clock.nowMs());
  using resources = new DisposableStack();
  const hold = resources.use(deps.bodies.hold(tenant));
  hold.grow(LIMITS.requestBytes);
  hold.reserve(GROWTH * (refuseAnnounced(request, deps.bodyCap) ?? 0));
  let bodyBytes = 0;
  const decoded = await form.decode(request, {
    limits: { ...deps.bodyCap, hold, late },
    see: (piece) => {
      bodyBytes += piece.byteLength;
      key?.add(piece);
    },
    options: {
      tenant,
      pathIndex: target.pathIndex,
      nowNs: deps.clock.nowNs(),
      idPrefix: idPrefix(deps.random),
      builders: deps.builders,
      charge: (bytes) => hold.grow(bytes),
    },
  });
  hold.settle();
  deps.metrics.bodyBytes.at(BULK).add(bodyBytes);
  // The sender was refused already and sends the documents again: if they were stored now, they
  // would be there twice.
  late.throwIfLate();
  const stored = await appendAll(decoded, { tenant, mode, key: key?.finish(), deps });
  // Past the deadline nobody receives it.
  if (!late.isLate) resources.move();
  return { mode, stored, items: decoded.items, hold };
}

/** Documents of 500 bytes with their actions take so many times their request's bytes. */
const GROWTH = 3;

const BULK = { endpoint: "bulk" } as const;

interface AppendAllOptions {
  readonly tenant: string;
  readonly mode: CommitMode;
  /** One for all lanes: each lane remembers the request by itself. */
  readonly key: FrameKey | undefined;
  readonly deps: BulkDeps;
}

/** Errors: the first lane's, when no lane took its rows. */
async function appendAll(
  { indexes }: DecodedBulk,
  { tenant, mode, key, deps }: AppendAllOptions,
): Promise<StoredLane[]> {
  const outcomes = await Promise.allSettled(indexes.map(async ({ index, batch }) => {
    const lane = { tenant, index };
    return { lane, segment: await appendRows(batch, { lane, mode, key, deps }) };
  }));
  const stored = outcomes.filter((outcome) => outcome.status === "fulfilled");
  outcomes.forEach((outcome, at) => {
    if (outcome.status === "fulfilled") return;
    if (stored.length === 0) throw outcome.reason;
    refuseItems(indexes[at]?.items ?? [], outcome.reason);
  });
  return stored.map(({ value }) => value);
}

/**
 * 429 whatever may pass: it is the one status of an item that every sender repeats, and only that
 * item. A key that another body had does not pass.
 */
function refuseItems(items: IndexRows["items"], thrown: unknown): void {
  const error = asOperatingError(thrown);
  const status = error.code === "unprocessable" ? 400 : 429;
  const refusal = { status, type: compatErrorType(error), reason: error.message } as const;
  for (const item of items) item.error = refusal;
}

function count(items: readonly BulkItem[], metrics: IngestMetrics): void {
  let refused = 0;
  let repeatable = 0;
  for (const { error } of items) {
    if (error === undefined) continue;
    if (error.status === 429) repeatable += 1;
    else refused += 1;
  }
  const stored = items.length - refused - repeatable;
  metrics.events.at(BULK).add(stored);
  metrics.bulkItems.at({ outcome: "stored" }).add(stored);
  metrics.bulkItems.at({ outcome: "refused" }).add(refused);
  metrics.bulkItems.at({ outcome: "send_again" }).add(repeatable);
}

/** 72 random bits, in letters that ids of the original have too. */
function idPrefix(random: Random): string {
  return random.bytes(9).toBase64({ alphabet: "base64url" });
}
