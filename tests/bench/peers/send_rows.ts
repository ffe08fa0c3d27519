/**
 * The program that sends rows: a process of its own, so that neither a server nor who measures it
 * waits for it. Its only argument is a `SendOrder` as JSON, its only output a `SendReport`.
 *
 * Requests are encoded first (`body_template.ts`). Each connection then takes the next request, and
 * the one after when it has its answer. Without a port requests are made and thrown away, which
 * tells how many rows a second this program can make.
 */

import process from "node:process";
import { percentile } from "../benchmark.ts";
import { type BodyTemplate, buildBody, fillBody } from "./body_template.ts";
import { ENCODINGS } from "./encodings.ts";
import { readLogLines } from "./log_lines.ts";
import { RawConnection } from "./raw_connection.ts";
import type { SendOrder, SendReport } from "./row_sender.ts";
import { buildShape } from "./shapes.ts";

/** A server that refuses for the moment is asked again after this, but not for ever. */
const RETRY_MS = 20;
const BUSY = [429, 503];

if (import.meta.main) {
  const order: SendOrder = JSON.parse(Deno.args[0] ?? "{}");
  const report = await sendRows(order);
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(report)}\n`));
}

async function sendRows(order: SendOrder): Promise<SendReport> {
  const templates = await buildTemplates(order);
  const state: State = { next: 0, sent: 0, retried: 0, tookMs: [] };
  const began = performance.now();
  const cpuBefore = process.cpuUsage();
  await Promise.all(
    Array.from({ length: order.connections }, () => drive(order, templates, state)),
  );
  const { user, system } = process.cpuUsage(cpuBefore);
  const bytes = templates.reduce((sum, template) => sum + template.bytes.byteLength, 0);
  return {
    rows: state.sent * order.batch,
    secs: (performance.now() - began) / 1_000,
    senderCpuSecs: (user + system) / 1e6,
    bytesPerRow: bytes / (templates.length * order.batch),
    retried: state.retried,
    p50Ms: percentile(state.tookMs, 0.5),
    p99Ms: percentile(state.tookMs, 0.99),
  };
}

/** The templates that the rows need; they repeat after the shape's. */
async function buildTemplates(order: SendOrder): Promise<readonly BodyTemplate[]> {
  const { form, batch, first, rows } = order;
  const shape = buildShape(order.shape, await readLogLines(order.lines));
  const count = Math.min(shape.templateRows, rows) / batch;
  return Array.from(
    { length: count },
    (_, i) =>
      buildBody(shape, { form, first: (first + i * batch) % shape.templateRows, rows: batch }),
  );
}

interface State {
  /** The request that is begun next. */
  next: number;
  sent: number;
  retried: number;
  readonly tookMs: number[];
}

async function drive(
  order: SendOrder,
  templates: readonly BodyTemplate[],
  state: State,
): Promise<void> {
  const { port, path, form, batch, first, total } = order;
  const longest = Math.max(...templates.map(({ bytes }) => bytes.byteLength));
  const buffer = new Uint8Array(longest);
  const head = `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n` +
    `content-type: ${ENCODINGS[form].contentType}\r\ncontent-length: `;
  using connection = new RawConnection(port);
  const began = performance.now();
  const until = began + order.secsMax * 1_000;
  const stop = began + (order.stopSecs ?? order.secsMax) * 1_000;
  while (performance.now() < stop) {
    const nth = state.next++;
    if (nth >= order.rows / batch) return;
    const template = templates[nth % templates.length];
    if (template === undefined) return;
    const body = fillBody(template, { form, first: first + nth * batch, total }, buffer);
    while (port !== 0) {
      const sent = performance.now();
      const { status, text } = await connection.post(head, body);
      const answered = performance.now();
      state.tookMs.push(answered - sent);
      if (isTaken(status, text, form)) break;
      if (!BUSY.includes(status)) throw new Error(`${path} answered ${text.slice(0, 600)}`);
      if (answered > until) throw new Error(`${path} took no rows within ${order.secsMax} s`);
      state.retried += 1;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    state.sent += 1;
  }
}

/** A bulk request may have failed in parts though its status is 200. */
function isTaken(status: number, text: string, form: SendOrder["form"]): boolean {
  return status >= 200 && status < 300 && (form !== "bulk" || text.includes('"errors":false'));
}
