/**
 * An OTLP/HTTP route, in protobuf or JSON; one signal a route. The hot routes of the service.
 *
 * Order: who may write, other headers, body, decode, encode, append. Nothing is stored unless all before the append went
 * well, and the append takes all rows of a request or none.
 */

import { OperatingError } from "../shared/base/errors.ts";
import type { ColumnBatch } from "../shared/columns/batch.ts";
import { drainBody, readBody } from "../shared/http/body.ts";
import type { ByteBudget } from "../shared/http/byte_budget.ts";
import { withDeadline } from "../shared/http/deadline.ts";
import { asOperatingError } from "../shared/http/error_response.ts";
import type { LaneId } from "../shared/event/tenant.ts";
import { type AppendDeps, appendRows } from "./append_rows.ts";
import { type CommitMode, commitModeOf } from "./commit_mode.ts";
import { LIMITS } from "./flags.ts";
import type { Admission, Peer, RequestHead } from "./admission.ts";
import type { LaneChoice } from "./lane_choice.ts";
import type { IngestMetrics } from "./metrics.ts";
import type { DecodeOptions } from "./otlp/request_decoder.ts";
import { otlpAccepted, type OtlpEncoding, otlpEncodingOf, otlpRefused } from "./otlp_reply.ts";

/** What a route does its own way. */
export interface OtlpSignal {
  /** Value of the label `endpoint`. */
  readonly endpoint: "logs" | "traces";
  readonly decodeProtobuf: (body: Uint8Array, options: DecodeOptions) => ColumnBatch;
  readonly decodeJson: (body: Uint8Array, options: DecodeOptions) => ColumnBatch;
  /** The smallest JSON request, for messages. */
  readonly emptyJson: string;
  /** Where the rows of `tenant` go. Errors: `invalid_argument`. */
  readonly laneOf: (lanes: LaneChoice, head: RequestHead, tenant: string) => LaneId;
}

export interface OtlpDeps extends AppendDeps {
  /** Returns once the rows of a segment are committed: `commit=force`. */
  readonly forceCommit: (lane: LaneId, segment: string) => Promise<void>;
  readonly admission: Pick<Admission, "admit">;
  readonly lanes: LaneChoice;
  readonly metrics: IngestMetrics;
  readonly bodies: ByteBudget;
  readonly bodyBytesMax: number;
  /** From the head of a request to its rows' durability. */
  readonly requestMsMax: number;
}

/** The route's handler; `query` is what follows the question mark. It answers its own errors. */
export function createOtlpRoute(
  signal: OtlpSignal,
  deps: OtlpDeps,
): (request: Request, query: string, peer: Peer) => Promise<Response> {
  const deadline = {
    msMax: deps.requestMsMax,
    what: "the rows did not arrive or were not made durable (they may still be stored)",
  };
  const { endpoint } = signal;
  return async (request, query, peer) => {
    const encoding = otlpEncodingOf(request.headers.get("content-type"));
    try {
      const stored = await withDeadline(
        deadline,
        () => store(request, { signal, encoding, query, peer, deps }),
      );
      if (stored?.mode === "force") await deps.forceCommit(stored.lane, stored.segment);
      deps.metrics.events.at({ endpoint }).add(stored?.rows ?? 0);
      return otlpAccepted(encoding ?? "json");
    } catch (thrown) {
      await drainBody(request);
      return otlpRefused(asOperatingError(thrown), encoding ?? "json");
    }
  };
}

interface StoreOptions {
  readonly signal: OtlpSignal;
  readonly encoding: OtlpEncoding | undefined;
  readonly query: string;
  readonly peer: Peer;
  readonly deps: OtlpDeps;
}

interface Stored {
  readonly mode: CommitMode;
  readonly lane: LaneId;
  readonly segment: string;
  readonly rows: number;
}

/** What was stored; undefined for a request without rows. */
async function store(request: Request, options: StoreOptions): Promise<Stored | undefined> {
  const { signal, encoding, query, peer, deps } = options;
  const { headers } = request;
  const tenant = await deps.admission.admit(headers, peer);
  if (encoding === undefined) throw unsupportedType(signal, headers.get("content-type"));
  const mode = commitModeOf(query, headers.get("x-svc-commit"));
  const lane = signal.laneOf(deps.lanes, headers, tenant);
  using hold = deps.bodies.hold();
  hold.grow(LIMITS.requestBytes);
  const body = await readBody(request, {
    bytesMax: deps.bodyBytesMax,
    readMsMax: Infinity,
    hold,
  });
  const batch = decode(body, { signal, encoding, nowNs: deps.clock.nowNs() });
  deps.metrics.bodyBytes.at({ endpoint: signal.endpoint }).add(body.byteLength);
  if (batch.rows === 0) return undefined;
  const segment = await appendRows(batch, { lane, mode, deps });
  return { mode, lane, segment, rows: batch.rows };
}

interface DecodeRequest {
  readonly signal: OtlpSignal;
  readonly encoding: OtlpEncoding;
  readonly nowNs: bigint;
}

function decode(body: Uint8Array, { signal, encoding, nowNs }: DecodeRequest): ColumnBatch {
  if (encoding === "protobuf") return signal.decodeProtobuf(body, { nowNs });
  if (body.byteLength === 0) {
    throw new OperatingError(
      "invalid_argument",
      `the request body is empty: an OTLP/JSON request is at least ${signal.emptyJson}`,
      { reason: "empty_body" },
    );
  }
  return signal.decodeJson(body, { nowNs });
}

function unsupportedType({ endpoint }: OtlpSignal, contentType: string | null): OperatingError {
  const given = contentType === null
    ? "no Content-Type"
    : `Content-Type ${JSON.stringify(contentType)}`;
  return new OperatingError(
    "unsupported_media_type",
    `cannot read OTLP ${endpoint} with ${given}: send application/x-protobuf or application/json`,
    { reason: "unsupported_content_type" },
  );
}
