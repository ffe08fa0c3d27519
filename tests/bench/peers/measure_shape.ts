/** All measurements of one shape of data: systems one after the other, then side by side. */

import { join } from "node:path";
import { messageOf } from "../../../shared/base/errors.ts";
import { expectedAnswers, lookupOf } from "./expected.ts";
import type { MachineLock } from "./machine_lock.ts";
import { measureIngest } from "./measure_ingest.ts";
import { type AskedSystem, measureQuestions } from "./measure_questions.ts";
import { measureVisible } from "./measure_visible.ts";
import { dropFromPageCache } from "./page_cache.ts";
import { type QuestionName, rowOfTime, type Scope, scopeOf } from "./question.ts";
import type { Result, StartResult } from "./result.ts";
import { ServerProcess } from "./server_process.ts";
import type { Shape } from "./shape.ts";
import type { InstalledSystem, MeasuredSystem } from "./systems/system.ts";

export interface ShapeOrder {
  readonly shape: Shape;
  readonly lines?: string;
  /** A multiple of 1,000. */
  readonly rows: number;
  readonly questions: readonly QuestionName[];
  readonly rounds: number;
  readonly loadSecs: number;
  readonly settleSecsMax: number;
  /** A folder for data, which this does not remove. */
  readonly work: string;
}

export interface Obtained {
  readonly system: MeasuredSystem;
  readonly installed: InstalledSystem;
}

export interface Tools {
  readonly lock: MachineLock;
  readonly progress: (text: string) => void;
  readonly report: (result: Result) => void;
}

/** The load at fewer rows a request has a quarter of the rows, and its data goes. */
const LOADS = [
  { batch: 50, connections: 16, share: 1 / 4, keep: false },
  { batch: 500, connections: 8, share: 1, keep: true },
] as const;

export async function measureShape(
  systems: readonly Obtained[],
  order: ShapeOrder,
  tools: Tools,
): Promise<void> {
  const loaded: Obtained[] = [];
  for (const obtained of systems) {
    if (await attempt(obtained, order, tools, "ingest", () => load(obtained, order, tools))) {
      loaded.push(obtained);
    }
  }
  await using running = new AsyncDisposableStack();
  const asked: AskedSystem[] = [];
  const scope = scopeOf(order.shape, order.rows);
  for (const obtained of loaded) {
    await attempt(obtained, order, tools, "start", async () => {
      await tools.lock.turn();
      tools.progress(`${order.shape.name}: start ${obtained.system.title}`);
      await dropFromPageCache(folderOf(obtained, order));
      const server = await start(obtained, order);
      running.use(server);
      tools.report(await answerFirst({ system: obtained.system, server }, order, scope));
      asked.push({ system: obtained.system, server });
    });
  }
  await ask(asked, order, scope, tools);
  tools.lock.release();
}

async function ask(
  asked: readonly AskedSystem[],
  order: ShapeOrder,
  scope: Scope,
  tools: Tools,
): Promise<void> {
  const { shape, rows, rounds } = order;
  for (const { server } of asked) server.forgetResident();
  const right = expectedAnswers(shape, scope, rows);
  const another = (time: number) => {
    const scope = scopeOf(shape, rows, rowOfTime(time, rows));
    return { scope, right: lookupOf(scope, rows) };
  };
  const questions = { shape: shape.name, scope, right, another, names: order.questions, rounds };
  for await (const result of measureQuestions(asked, questions, tools)) tools.report(result);
  for (const { system, server } of asked) {
    tools.report({
      measure: "memory while asked",
      shape: shape.name,
      system: system.name,
      residentBytes: server.residentPeakBytes,
    });
  }
  for (const { system, server } of asked) {
    await attempt({ system }, order, tools, "visible", async () => {
      await tools.lock.turn();
      tools.progress(`${shape.name}: from acknowledged to visible, ${system.title}`);
      tools.report(await measureVisible(system, server, { shape, scope, total: rows }));
    });
  }
}

/** Each load into a folder of its own; that of the last stays. */
async function load(obtained: Obtained, order: ShapeOrder, tools: Tools): Promise<void> {
  const { system } = obtained;
  const { shape, lines, loadSecs, settleSecsMax } = order;
  for (const { batch, connections, share, keep } of LOADS) {
    await tools.lock.turn();
    const rows = Math.max(1, Math.round(order.rows * share / 1_000)) * 1_000;
    tools.progress(`${shape.name}: ${rows} rows, ${batch} a request, to ${system.title}`);
    const folder = folderOf(obtained, order);
    await Deno.mkdir(folder, { recursive: true });
    {
      await using server = await start(obtained, order);
      await system.prepare?.(server.call);
      tools.report(
        await measureIngest(system, server, {
          ...{ shape: shape.name, batch, connections, rows, total: rows },
          ...{ loadSecs, settleSecsMax, keep },
          ...(lines === undefined ? {} : { lines }),
        }),
      );
    }
    if (!keep) await Deno.remove(folder, { recursive: true });
  }
}

async function start({ system, installed }: Obtained, order: ShapeOrder): Promise<ServerProcess> {
  const folder = folderOf({ system }, order);
  const launch = await installed.launch(folder);
  return await ServerProcess.start(system, { folder, launch, logFile: `${folder}.log` });
}

/** The first answer counts the rows of a time range, which every system does fast. */
async function answerFirst(
  { system, server }: AskedSystem,
  { shape }: ShapeOrder,
  scope: Scope,
): Promise<StartResult> {
  const first = system.questions(scope).range;
  if (typeof first !== "string") await first(server.call);
  return {
    measure: "start",
    shape: shape.name,
    system: system.name,
    readySecs: server.readySecs,
    answeredSecs: (performance.now() - server.startedMs) / 1_000,
  };
}

function folderOf({ system }: { readonly system: MeasuredSystem }, order: ShapeOrder): string {
  return join(order.work, `${order.shape.name}-${system.name}`);
}

/** Whether `part` was done; why not is a result, and the other systems go on. */
async function attempt(
  { system }: { readonly system: MeasuredSystem },
  { shape }: ShapeOrder,
  { report }: Tools,
  part: string,
  work: () => Promise<void>,
): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    report({
      measure: "failed",
      shape: shape.name,
      system: system.name,
      part,
      reason: messageOf(error),
    });
    return false;
  }
}
