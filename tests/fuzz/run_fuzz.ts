/**
 * Rounds of the fuzzer against the HTTP handlers. A failure names its seed and its input's number.
 */

import assert from "node:assert/strict";
import { encodeLogsRequest } from "../../proto/otlp_logs.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { checkAnswer } from "./check_answer.ts";
import { BODY_CAP_BYTES, FuzzTarget } from "./fuzz_target.ts";
import type { FuzzInput } from "./fuzz_input.ts";
import { makeInput } from "./make_input.ts";
import { validRequests } from "./valid_bodies.ts";

/** Longest time to an answer. Bodies are capped at 256 KiB, so this is a hang. */
const ANSWER_MS_MAX = 5_000;
/** Between two looks at whether the server still does what it is for. */
const ROUND_INPUTS = 500;

export interface FuzzOptions {
  readonly seed: number;
  /** Ends after this many inputs. */
  readonly inputs: number;
  /** Ends after this time, whichever comes first. */
  readonly msMax?: number;
  /** Cap of a body; that of the fuzzer's server by default, which is small. */
  readonly bodyBytesMax?: number;
  /** How many inputs are such that few bytes mean much. */
  readonly denseShare?: number;
  readonly onRound?: (done: number, statuses: ReadonlyMap<number, number>) => void;
}

/** Answers by status. Throws at the first input that is not treated as it should be. */
export async function runFuzz(options: FuzzOptions): Promise<ReadonlyMap<number, number>> {
  const { seed, inputs, msMax = Infinity, bodyBytesMax = BODY_CAP_BYTES } = options;
  const { denseShare = 0.03 } = options;
  const valid = validRequests(seed);
  const target = new FuzzTarget(bodyBytesMax);
  const statuses = new Map<number, number>();
  const endMs = performance.now() + msMax;
  // First, so that its lane is open before one input takes all the others.
  await requireService(target);
  for (let number = 0; number < inputs && performance.now() < endMs; number += 1) {
    // Each input by itself, so that a change of one maker does not change all inputs of others.
    const input = makeInput(new SeededRandom(seed * 2 ** 24 + number), valid, {
      bodyBytesMax,
      denseShare,
    });
    try {
      const status = await tryInput(target, input);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (number % ROUND_INPUTS === ROUND_INPUTS - 1) await requireService(target);
    } catch (cause) {
      throw new Error(`fuzz: seed ${seed}, input ${number}: ${describe(input)}`, { cause });
    }
    if (number % ROUND_INPUTS === 0) options.onRound?.(number, statuses);
  }
  await requireService(target);
  return statuses;
}

/** Sends an input; its status, once everything about it is as it should be. */
export async function tryInput(target: FuzzTarget, input: FuzzInput): Promise<number> {
  const request = requestOf(input);
  const rowsBefore = target.rows;
  const startMs = performance.now();
  const response = await withinTime(target.handle(request));
  const answer = {
    status: response.status,
    headers: response.headers,
    body: new Uint8Array(await response.arrayBuffer()),
  };
  const ms = performance.now() - startMs;
  assert.ok(ms < ANSWER_MS_MAX, `answered after ${Math.round(ms)} ms`);
  const acknowledged = checkAnswer(input, answer);
  const stored = target.rows - rowsBefore;
  if (answer.status !== 200 && answer.status !== 201) {
    assert.equal(stored, 0, "rows of a refused request were stored");
  }
  if (acknowledged !== undefined) assert.equal(stored, acknowledged, "rows stored");
  assert.equal(target.bytesInFlight, 0, "bytes of an answered request are still held");
  return answer.status;
}

async function withinTime(answer: Promise<Response>): Promise<Response> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no answer in time")), ANSWER_MS_MAX);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

function requestOf({ method, target, headers, body, hangsUpAt }: FuzzInput): Request {
  const init = { method, headers: headers.map(([name, value]): [string, string] => [name, value]) };
  if (body === undefined) return new Request(`http://127.0.0.1${target}`, init);
  const stream = hangsUpAt === undefined ? new Uint8Array(body) : cutOff(body, hangsUpAt);
  return new Request(`http://127.0.0.1${target}`, { ...init, body: stream });
}

function cutOff(body: Uint8Array, at: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      if (sent || at === 0) return controller.error(new Error("connection reset"));
      sent = true;
      controller.enqueue(new Uint8Array(body.subarray(0, at)));
    },
  });
}

const VALID_ROWS = 3;
const VALID = encodeLogsRequest({
  resourceLogs: [{
    scopeLogs: [{
      logRecords: Array.from({ length: VALID_ROWS }, () => ({ body: { stringValue: "still" } })),
    }],
  }],
});

async function requireService(target: FuzzTarget): Promise<void> {
  const before = target.rows;
  const status = await tryInput(target, {
    method: "POST",
    target: "/v1/logs",
    headers: [["content-type", "application/x-protobuf"]],
    body: VALID,
  });
  assert.deepEqual([status, target.rows - before], [200, VALID_ROWS], "a valid request");
}

function describe({ method, target, headers, body }: FuzzInput): string {
  const few = headers.slice(0, 8).map(([name, value]) => `${name}: ${value.slice(0, 60)}`);
  const start = body === undefined ? "no body" : body.subarray(0, 120).toBase64();
  return `${method} ${target.slice(0, 120)} [${few.join("; ")}] ${
    body?.length ?? 0
  } bytes: ${start}`;
}
