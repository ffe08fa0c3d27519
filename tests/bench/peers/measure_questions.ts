/**
 * The questions. The first time of each is the first since the system was started over files
 * that were dropped from the page cache. Then systems take turns in slices, so that they share the
 * machine's moods.
 */

import { messageOf } from "../../../shared/base/errors.ts";
import { median } from "../benchmark.ts";
import type { MachineLock } from "./machine_lock.ts";
import {
  type Answer,
  type Ask,
  type Call,
  disagreement,
  QUESTION_NAMES,
  type QuestionName,
  type RightAnswer,
  type Scope,
  type SystemQuestion,
} from "./question.ts";
import type { QuestionResult } from "./result.ts";
import type { ServerProcess } from "./server_process.ts";
import type { ShapeName } from "./shape.ts";
import type { MeasuredSystem } from "./systems/system.ts";

export interface AskedSystem {
  readonly system: MeasuredSystem;
  readonly server: ServerProcess;
}

export interface QuestionOrder {
  readonly shape: ShapeName;
  readonly scope: Scope;
  readonly right: Readonly<Record<SystemQuestion, RightAnswer>>;
  /** For the question `another`. */
  readonly another: (time: number) => { readonly scope: Scope; readonly right: RightAnswer };
  readonly names: readonly QuestionName[];
  /** Slices of each system and question. */
  readonly rounds: number;
}

/** A slice is so long that its processor time can be told, and no longer. */
const SLICE_MS = 150;
const SLICE_ASKS_MAX = 25;
/** A question that takes longer is asked but once more. */
const SLOW_MS = 10_000;

interface Asked {
  readonly ms: number;
  readonly cpuMs: number;
  readonly answer: () => Answer;
}

/** One question of one system while it is measured. */
interface Course {
  readonly asked: AskedSystem;
  readonly ask: Ask;
  readonly first: Asked;
  readonly wrong: string | undefined;
  readonly asksPerSlice: number;
  readonly tookMs: number[];
  cpuMs: number;
}

/** Results in the order of the questions. `progress` is told of each before it is asked. */
export async function* measureQuestions(
  systems: readonly AskedSystem[],
  order: QuestionOrder,
  { lock, progress }: {
    readonly lock: MachineLock;
    readonly progress: (text: string) => void;
  },
): AsyncGenerator<QuestionResult> {
  for (const question of QUESTION_NAMES.filter((name) => order.names.includes(name))) {
    progress(`${order.shape}: ${question}`);
    const courses: Course[] = [];
    for (const asked of systems) {
      await lock.turn();
      const outcome = await begin(asked, question, order);
      if ("tookMs" in outcome) courses.push(outcome);
      else yield outcome;
    }
    for (let round = 0; round < order.rounds; round += 1) {
      for (const course of courses) {
        await lock.turn();
        if (round === 0 || course.first.ms < SLOW_MS) await slice(course);
      }
    }
    for (const course of courses) yield resultOf(course, question, order.shape);
  }
}

/** Asks for the first time and once more, to learn how long it takes. */
async function begin(
  asked: AskedSystem,
  question: QuestionName,
  order: QuestionOrder,
): Promise<Course | QuestionResult> {
  const { shape, right } = order;
  const result = { measure: "question", shape, system: asked.system.name, question } as const;
  const ask = askOf(asked.system, question, order);
  const rightOf = (time: number) =>
    question === "another" ? order.another(time).right : right[question];
  if (typeof ask === "string") return { ...result, unasked: ask };
  try {
    const first = await once(asked, ask);
    const second = await once(asked, ask);
    const wrong = disagreement(first.answer(), rightOf(0)) ??
      disagreement(second.answer(), rightOf(1));
    const asksPerSlice = Math.ceil(SLICE_MS / Math.max(second.ms, 0.1));
    return {
      ...{ asked, ask, first, wrong, tookMs: [], cpuMs: 0 },
      asksPerSlice: Math.min(SLICE_ASKS_MAX, asksPerSlice),
    };
  } catch (error) {
    return { ...result, unasked: `it failed: ${messageOf(error)}` };
  }
}

function askOf(
  system: MeasuredSystem,
  question: QuestionName,
  { scope, another }: QuestionOrder,
): Ask | string {
  if (question !== "another") return system.questions(scope)[question];
  const lookup = (time: number) => system.questions(another(time).scope).lookup;
  const first = lookup(0);
  if (typeof first === "string") return first;
  let times = 0;
  return (call) => {
    const ask = lookup(times);
    times += 1;
    return typeof ask === "string" ? first(call) : ask(call);
  };
}

async function once({ server }: AskedSystem, ask: Ask): Promise<Asked> {
  const timed = timedCall(server.call);
  const before = server.cpuSecs();
  const answer = await ask(timed.call);
  return { ms: timed.ms(), cpuMs: (server.cpuSecs() - before) * 1_000, answer };
}

async function slice(course: Course): Promise<void> {
  const { asked: { server }, ask, asksPerSlice, tookMs } = course;
  const before = server.cpuSecs();
  for (let i = 0; i < asksPerSlice; i += 1) {
    const timed = timedCall(server.call);
    await ask(timed.call);
    tookMs.push(timed.ms());
  }
  course.cpuMs += (server.cpuSecs() - before) * 1_000;
}

/** Adds up the time of the requests alone, without what is made of answers between. */
function timedCall(call: Call): { readonly call: Call; ms(): number } {
  let ms = 0;
  return {
    call: async (...request) => {
      const began = performance.now();
      const text = await call(...request);
      ms += performance.now() - began;
      return text;
    },
    ms: () => ms,
  };
}

function resultOf(course: Course, question: QuestionName, shape: ShapeName): QuestionResult {
  const { asked: { system }, first, wrong, tookMs, cpuMs } = course;
  return {
    measure: "question",
    shape,
    system: system.name,
    question,
    ...(wrong === undefined ? {} : { wrong }),
    firstMs: first.ms,
    firstCpuMs: first.cpuMs,
    medianMs: median(tookMs),
    cpuMs: cpuMs / tookMs.length,
    asked: tookMs.length,
  };
}
