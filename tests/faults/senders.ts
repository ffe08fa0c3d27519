/**
 * Senders that remember what was acknowledged: OTLP over HTTP and gRPC, and bulk requests to two
 * tables. Some requests have an idempotency key; those without an answer are sent again, as they
 * were, when the servers are back.
 */

import protobuf from "protobufjs";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { framed, GrpcConnection } from "../clients/grpc_call.ts";
import { delay } from "./commands.ts";
import { type CommitMode, type Ledger, rowText, type SentRequest } from "./ledger.ts";

export interface SenderAddresses {
  readonly ingestUrl: string;
  readonly grpcTarget: string;
}

interface Kind {
  readonly weight: number;
  readonly protocol: "otlp" | "grpc" | "bulk";
  readonly table: string;
  readonly mode: CommitMode;
  readonly hasKey?: boolean;
  /** How long ago the rows' time was; the server sets it when absent. */
  readonly ageMs?: number;
  /** Whether the table's retention may take the rows. */
  readonly mayExpire?: boolean;
}

const FIRST_KIND: Kind = { weight: 25, protocol: "otlp", table: "events", mode: "wait_for" };
/** How often each way of sending is taken. */
const KINDS: readonly Kind[] = [
  FIRST_KIND,
  { weight: 20, protocol: "grpc", table: "events", mode: "wait_for" },
  { weight: 15, protocol: "otlp", table: "events", mode: "wait_for", hasKey: true },
  { weight: 15, protocol: "bulk", table: "app_logs", mode: "wait_for" },
  { weight: 10, protocol: "bulk", table: "events", mode: "wait_for" },
  { weight: 5, protocol: "otlp", table: "events", mode: "auto" },
  { weight: 3, protocol: "otlp", table: "events", mode: "force" },
];

const HOUR_MS = 3_600_000;
/** An index that keeps rows for an hour; some come when they are older than that. */
export const BRIEF = { table: "brief", retentionSecs: HOUR_MS / 1_000 } as const;
const BRIEF_AGES_MS = [0, 3 * HOUR_MS, 72 * HOUR_MS];

/** Rows of a request, and bytes that each has besides: small and large frames, packed and plain. */
const ROWS = [1, 1, 2, 5, 20, 40];
const PAD_BYTES = [16, 16, 64, 400, 3_000];
const REQUEST_MS_MAX = 30_000;
const PAUSE_AFTER_FAILURE_MS = 50;
const DAY_NS = 86_400_000_000_000n;

/** How much is sent. */
export interface Load {
  /** Requests at a time. */
  readonly senders: number;
  /** How long a sender rests at most behind an answer. */
  readonly pauseMsMax: number;
}

export const FULL_LOAD: Load = { senders: 4, pauseMsMax: 20 };
/** Little enough that a check of all rows, behind each fault, stays cheap. */
export const LIGHT_LOAD: Load = { senders: 2, pauseMsMax: 200 };

interface Keyed {
  readonly request: SentRequest;
  readonly body: string;
  readonly key: string;
}

export class Senders {
  readonly #addresses: SenderAddresses;
  readonly #ledger: Ledger;
  readonly #random: SeededRandom;
  /** Keyed requests without an answer. */
  readonly #unanswered: Keyed[] = [];
  #kinds = KINDS;
  /** A request that waits for a commit: one at a time, else all wait while nobody commits. */
  #forces = 0;
  /** Answers by their status, and failures by name. */
  readonly statuses = new Map<string, number>();

  constructor(addresses: SenderAddresses, ledger: Ledger, random: SeededRandom) {
    this.#addresses = addresses;
    this.#ledger = ledger;
    this.#random = random;
  }

  /** From now on rows are sent to the index `BRIEF`, too. `mayAllGo`: also those of now. */
  includeBrief(mayAllGo: boolean): void {
    const kinds = BRIEF_AGES_MS.map((ageMs): Kind => ({
      ...{ weight: 15, protocol: "bulk", table: BRIEF.table, mode: "wait_for", ageMs },
      mayExpire: mayAllGo || ageMs > 0,
    }));
    this.#kinds = [...KINDS, ...kinds];
  }

  /** Sends until `signal` says that it is over. */
  async run({ senders, pauseMsMax }: Load, signal: AbortSignal): Promise<void> {
    const work = Array.from({ length: senders }, () => this.#sendUntil(signal, pauseMsMax));
    await Promise.all(work);
  }

  /** Sends keyed requests without an answer again; throws when one is still not acknowledged. */
  async repeatUnanswered(): Promise<void> {
    for (const keyed of this.#unanswered.splice(0)) {
      const status = await this.#post(keyed, AbortSignal.timeout(REQUEST_MS_MAX));
      if (status !== "200") throw new Error(`a repeated request was answered ${status}`);
    }
  }

  async #sendUntil(signal: AbortSignal, pauseMsMax: number): Promise<void> {
    let connection: GrpcConnection | undefined;
    while (!signal.aborted) {
      const kind = this.#kind();
      const request = this.#ledger.begin({
        table: kind.table,
        mode: kind.mode,
        rows: this.#oneOf(ROWS),
        isNamed: kind.protocol !== "bulk",
        mayExpire: kind.mayExpire ?? false,
      });
      let status: string;
      if (kind.mode === "force") this.#forces += 1;
      if (kind.protocol === "grpc") {
        connection ??= new GrpcConnection(this.#addresses.grpcTarget);
        status = await this.#call(connection, request, signal);
        if (status !== "200") {
          await connection[Symbol.asyncDispose]();
          connection = undefined;
        }
      } else if (kind.protocol === "bulk") status = await this.#bulk(request, kind, signal);
      else status = await this.#otlp(request, kind, signal);
      if (kind.mode === "force") this.#forces -= 1;
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      await delay(status === "200" ? this.#random.below(pauseMsMax) : PAUSE_AFTER_FAILURE_MS);
    }
    await connection?.[Symbol.asyncDispose]();
  }

  #kind(): Kind {
    let at = this.#random.below(this.#kinds.reduce((sum, { weight }) => sum + weight, 0));
    const kind = this.#kinds.find(({ weight }) => (at -= weight) < 0) ?? FIRST_KIND;
    return kind.mode === "force" && this.#forces > 0 ? FIRST_KIND : kind;
  }

  #oneOf(values: readonly number[]): number {
    return values[this.#random.below(values.length)] ?? 1;
  }

  #timeNs(): bigint {
    const now = BigInt(Date.now()) * 1_000_000n;
    return this.#random.chance(0.02) ? now - BigInt(this.#random.below(3)) * DAY_NS : now;
  }

  async #otlp(request: SentRequest, kind: Kind, signal: AbortSignal): Promise<string> {
    const pad = "pad ".repeat(this.#oneOf(PAD_BYTES) >> 2);
    const logRecords = Array.from({ length: request.rows }, (_, row) => ({
      timeUnixNano: String(this.#timeNs()),
      severityText: "INFO",
      body: { stringValue: rowText(request.number, row) },
      attributes: [{ key: "pad", value: { stringValue: pad } }],
    }));
    const resource = {
      attributes: [{ key: "service.name", value: { stringValue: sourceOf(request.number) } }],
    };
    const body = JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] });
    const keyed = { request, body, key: kind.hasKey ? crypto.randomUUID() : "" };
    const status = await this.#post(keyed, signal);
    if (kind.hasKey && status !== "200") this.#unanswered.push(keyed);
    return status;
  }

  async #post({ request, body, key }: Keyed, signal: AbortSignal): Promise<string> {
    const headers = { "content-type": "application/json", "x-svc-commit": request.mode };
    const { status } = await answerTo(`${this.#addresses.ingestUrl}/v1/logs`, {
      headers: key === "" ? headers : { ...headers, "x-svc-idempotency-key": key },
      body,
    }, signal);
    if (status === "200") this.#ledger.acknowledge(request.number);
    return status;
  }

  async #bulk(request: SentRequest, { ageMs }: Kind, signal: AbortSignal): Promise<string> {
    const pad = "x".repeat(this.#oneOf(PAD_BYTES));
    const time = ageMs === undefined ? {} : { timestamp: new Date(Date.now() - ageMs) };
    const lines = Array.from({ length: request.rows }, (_, row) => {
      const message = rowText(request.number, row);
      return `{"create":{}}\n${JSON.stringify({ message, pad, ...time })}\n`;
    });
    const url = `${this.#addresses.ingestUrl}/api/v1/_compat/${request.table}/_bulk`;
    const headers = { "content-type": "application/x-ndjson", "x-svc-commit": request.mode };
    const { status, text } = await answerTo(url, { headers, body: lines.join("") }, signal);
    if (status !== "200") return status;
    if (JSON.parse(text).errors === false) this.#ledger.acknowledge(request.number);
    else this.#ledger.acknowledgePart(request.number);
    return status;
  }

  async #call(
    connection: GrpcConnection,
    request: SentRequest,
    signal: AbortSignal,
  ): Promise<string> {
    const wire = framed(logsMessage(request, () => this.#timeNs()));
    const over = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS_MAX)]);
    const end = () => connection.session.destroy();
    over.addEventListener("abort", end, { once: true });
    try {
      if (signal.aborted) return "AbortError";
      const { code } = await connection.call({
        wire,
        metadata: { "x-svc-commit": request.mode },
      });
      if (code !== 0) return `grpc ${code}`;
      this.#ledger.acknowledge(request.number);
      return "200";
    } catch {
      return "no answer";
    } finally {
      over.removeEventListener("abort", end);
    }
  }
}

/** `source` of a request's rows, which a delete task can name. */
export function sourceOf(request: number): string {
  return `service-${request}`;
}

/** The answer's status, or the name of what kept it from coming. */
async function answerTo(
  url: string,
  { headers, body }: { readonly headers: Record<string, string>; readonly body: string },
  signal: AbortSignal,
): Promise<{ readonly status: string; readonly text: string }> {
  try {
    const response = await fetch(url, {
      ...{ method: "POST", headers, body },
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS_MAX)]),
    });
    return { text: await response.text(), status: String(response.status) };
  } catch (error) {
    return { status: error instanceof Error ? error.name : "no answer", text: "" };
  }
}

/** An `ExportLogsServiceRequest`. */
function logsMessage(request: SentRequest, timeNs: () => bigint): Uint8Array {
  const writer = new protobuf.Writer();
  writer.uint32(0x0a).fork(); // resource_logs
  writer.uint32(0x0a).fork().uint32(0x0a).fork(); // resource, attributes
  writer.uint32(0x0a).string("service.name");
  writer.uint32(0x12).fork().uint32(0x0a).string(sourceOf(request.number)).ldelim();
  writer.ldelim().ldelim();
  writer.uint32(0x12).fork(); // scope_logs
  for (let row = 0; row < request.rows; row += 1) {
    writer.uint32(0x12).fork(); // log_records
    writer.uint32(0x09).fixed64(String(timeNs()));
    writer.uint32(0x2a).fork().uint32(0x0a).string(rowText(request.number, row)).ldelim();
    writer.ldelim();
  }
  writer.ldelim().ldelim();
  return writer.finish();
}
