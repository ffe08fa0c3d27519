/** How long it takes from the acknowledgment of rows to an answer that has them. */

import { OperatingError } from "../../../shared/base/errors.ts";
import { median } from "../benchmark.ts";
import { buildBody, fillBody } from "./body_template.ts";
import { ENCODINGS } from "./encodings.ts";
import { idsIn, type Scope } from "./question.ts";
import type { VisibleResult } from "./result.ts";
import { idOf } from "./row_numbers.ts";
import type { ServerProcess } from "./server_process.ts";
import { RESOURCE_ROWS, type Shape } from "./shape.ts";
import type { MeasuredSystem } from "./systems/system.ts";

const TIMES = 9;
const PAUSE_MS = 300;
const POLL_MS = 5;
const VISIBLE_SECS_MAX = 30;
const HOUR_MS = 3_600_000;

/** Sends a few rows behind those of the set and asks for a word of them, nine times. */
export async function measureVisible(
  system: MeasuredSystem,
  server: ServerProcess,
  { shape, scope, total }: { readonly shape: Shape; readonly scope: Scope; readonly total: number },
): Promise<VisibleResult> {
  const result = { measure: "visible", shape: shape.name, system: system.name } as const;
  if (system.visibleUnasked !== undefined) return { ...result, unasked: system.visibleUnasked };
  const tookMs: number[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    const first = total + time * RESOURCE_ROWS;
    await send(system, server, { shape, first, total });
    const acknowledged = performance.now();
    await waitForWord(system, server, { ...scope, rareWord: idOf(first, total) });
    tookMs.push(performance.now() - acknowledged);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return {
    ...result,
    medianMs: median(tookMs),
    maxMs: Math.max(...tookMs),
    times: TIMES,
  };
}

async function send(
  { form, ingestPath }: MeasuredSystem,
  { launch }: ServerProcess,
  { shape, first, total }: {
    readonly shape: Shape;
    readonly first: number;
    readonly total: number;
  },
): Promise<void> {
  const template = buildBody(shape, { form, first, rows: RESOURCE_ROWS });
  const into = new Uint8Array(template.bytes.byteLength);
  const response = await fetch(`http://127.0.0.1:${launch.ingestPort}${ingestPath}`, {
    method: "POST",
    headers: { "content-type": ENCODINGS[form].contentType },
    body: fillBody(template, { form, first, total }, into) as Uint8Array<ArrayBuffer>,
    signal: AbortSignal.timeout(VISIBLE_SECS_MAX * 1_000),
  });
  const text = await response.text();
  if (!response.ok) throw new OperatingError("unavailable", `rows were answered ${text}`);
}

async function waitForWord(
  system: MeasuredSystem,
  server: ServerProcess,
  scope: Scope,
): Promise<void> {
  const later = { ...scope, dataEndMs: scope.dataEndMs + HOUR_MS };
  const ask = system.questions(later).rare;
  if (typeof ask === "string") return;
  const until = performance.now() + VISIBLE_SECS_MAX * 1_000;
  while (performance.now() < until) {
    let text = "";
    await ask(async (...request) => text = await server.call(...request));
    if (idsIn(text).has(scope.rareWord)) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new OperatingError(
    "deadline_exceeded",
    `Cannot see acknowledged rows within ${VISIBLE_SECS_MAX} s`,
  );
}
