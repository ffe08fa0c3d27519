/**
 * An OTLP/HTTP route, in protobuf or JSON; one signal a route. The hot routes of the service.
 *
 * Order: who may write, other headers, body, decode, encode, append. Nothing is stored unless all
 * before the append went well, and the append takes all rows of a request or none.
 */

import { Buffer } from "node:buffer";
import type { Late } from "../../shared/base/with_deadline.ts";
import { freeBytes } from "../../shared/base/bytes.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { drainBody, readBody } from "../../shared/http/body.ts";
import type { BodyCap } from "../../shared/http/body_too_large.ts";
import type { ByteHold } from "../../shared/base/byte_budget.ts";
import { asOperatingError } from "../../shared/http/error_response.ts";
import type { LaneId } from "../../shared/tenant/tenant.ts";
import type { AnswersFirst } from "../answers_first.ts";
import { commitModeOf } from "../commit_mode.ts";
import { LIMITS } from "../flags.ts";
import type { Admission, Peer, RequestFields } from "../admission.ts";
import { idempotencyOf, keyOfBody } from "../idempotency.ts";
import type { LaneChoice } from "../lane_choice.ts";
import type { RefusedRows } from "../mapped_rows.ts";
import { decodeBody, type DecodeThread } from "./decode_thread.ts";
import type { DecodeOptions } from "./request_decoder.ts";
import { otlpAccepted, type OtlpEncoding, otlpEncodingOf, otlpRefused } from "./otlp_reply.ts";
import { chargeRows, type ReceivedRows, takeRows, type TakeRowsDeps } from "../take_rows.ts";

/** What a route does its own way. */
export interface OtlpSignal {
  /** Value of the label `endpoint`. */
  readonly endpoint: "logs" | "traces";
  readonly decodeProtobuf: (body: Uint8Array, options: DecodeOptions) => ColumnBatch;
  readonly decodeJson: (body: Uint8Array, options: DecodeOptions) => ColumnBatch;
  /** The member of a JSON request that holds everything. */
  readonly resources: string;
  /** Where the rows of `tenant` go. Errors: `invalid_argument`. */
  readonly laneOf: (lanes: LaneChoice, head: RequestFields, tenant: string) => LaneId;
}

export interface OtlpDeps extends TakeRowsDeps {
  /** For long requests; undefined: none. */
  readonly decodeThread?: DecodeThread | undefined;
  /** Undefined: all is decoded as it comes. */
  readonly answersFirst?: Pick<AnswersFirst, "turn">;
  readonly admission: Pick<Admission, "admit">;
  readonly lanes: LaneChoice;
  readonly bodyCap: BodyCap;
}

/** The route's handler; `query` is what follows the question mark. It answers its own errors. */
export function createOtlpRoute(
  signal: OtlpSignal,
  deps: OtlpDeps,
): (request: Request, query: string, peer: Peer) => Promise<Response> {
  return async (request, query, peer) => {
    const encoding = otlpEncodingOf(request.headers.get("content-type"));
    try {
      const refused = await takeRows(
        signal.endpoint,
        (hold, late) => receive(request, { signal, encoding, query, peer, hold, late, deps }),
        deps,
      );
      return otlpAccepted(encoding ?? "json", refused);
    } catch (thrown) {
      await drainBody(request);
      return otlpRefused(asOperatingError(thrown), encoding ?? "json");
    }
  };
}

interface ReceiveOptions {
  readonly signal: OtlpSignal;
  readonly encoding: OtlpEncoding | undefined;
  readonly query: string;
  readonly peer: Peer;
  readonly hold: ByteHold;
  /** Ends a body that does not arrive in time. */
  readonly late: Late;
  readonly deps: OtlpDeps;
}

async function receive(request: Request, options: ReceiveOptions): Promise<ReceivedRows> {
  const { signal, encoding, query, peer, hold, late, deps } = options;
  const { headers } = request;
  const tenant = await deps.admission.admit(headers, peer);
  hold.belongTo(tenant);
  if (encoding === undefined) throw unsupportedType(signal, headers.get("content-type"));
  const mode = commitModeOf(query, headers.get("x-svc-commit"), deps);
  const key = idempotencyOf(headers, deps.clock.nowMs());
  const lane = signal.laneOf(deps.lanes, headers, tenant);
  hold.grow(LIMITS.requestBytes);
  const sent = await readBody(request, { ...deps.bodyCap, hold, late });
  if (sent.byteLength === 0 && encoding === "json") throw emptyBody(signal);
  const { batch, body } = await decodeBody(
    encoding === "json" ? signal.decodeJson : signal.decodeProtobuf,
    {
      form: `${signal.endpoint} ${encoding}`,
      body: sent,
      nowNs: deps.clock.nowNs(),
      thread: deps.decodeThread,
      answersFirst: deps.answersFirst,
    },
  );
  chargeRows(batch, { hold, bodyBytes: body.byteLength });
  deps.metrics.bodyBytes.at({ endpoint: signal.endpoint }).add(body.byteLength);
  const warning = batch.rows === 0 && encoding === "json" ? strangeBody(body, signal) : undefined;
  const keyed = keyOfBody(key, body);
  freeBytes(body);
  return { batch, lane, mode, key: keyed, warning };
}

/**
 * Why a request has no rows although its body has members, else undefined. Unknown members are to
 * be ignored, so a request of the wrong path or with the wrong names is a good one without rows.
 * Its sender may at least learn that.
 */
function strangeBody(body: Uint8Array, { resources }: OtlpSignal): RefusedRows | undefined {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!text.includes('"') || text.includes(`"${resources}"`)) return undefined;
  const reason =
    `nothing was stored: the request has no member ${resources}; names are lowerCamelCase, ` +
    "POST /v1/logs takes resourceLogs and POST /v1/traces resourceSpans";
  return { count: 0, reason };
}

function emptyBody({ resources }: OtlpSignal): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `the request body is empty: an OTLP/JSON request is at least {"${resources}":[]}`,
    { reason: "empty_body" },
  );
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
