/**
 * One flipped bit in a file of each kind, on disk, under a query server that starts anew. Each
 * statement is answered as before, with an error, or with a word that the answer is not whole.
 * Never otherwise: that would be a silent wrong answer.
 */

import { join } from "node:path";
import { delay, until } from "../commands.ts";
import { type Arena, type Fault, outcomeOf } from "../fault.ts";
import { Life } from "../life.ts";
import type { RoleName, Stack } from "../../apps/stack.ts";

/** Files of each kind by their path below the data folder; the newest in name is taken. */
const KINDS: readonly { readonly name: string; readonly path: RegExp }[] = [
  { name: "data file", path: /warehouse\/svc\/events-.*\/data\/.*\.parquet$/ },
  { name: "sidecar", path: /warehouse\/svc\/events-.*\/derived\/.*\.puffin$/ },
  { name: "manifest", path: /warehouse\/svc\/events-.*\/metadata\/.*-m\d+\.avro$/ },
  { name: "manifest list", path: /warehouse\/svc\/events-.*\/metadata\/snap-.*\.avro$/ },
  { name: "metadata.json", path: /warehouse\/svc\/events-.*\/metadata\/.*\.metadata\.json$/ },
  { name: "catalog", path: /warehouse\/catalog\.db$/ },
  { name: "WAL segment", path: /wal\/default\/events\/sealed\/.*\.seg$/ },
];

const STATEMENTS = [
  "SELECT count(*) AS n FROM events",
  "SELECT source, count(*) AS n FROM events GROUP BY ALL ORDER BY source",
  "SELECT raw, source, timestamp_ns FROM events ORDER BY raw, timestamp_ns",
  "SELECT raw, attributes FROM events WHERE source LIKE 'service-1%' ORDER BY raw",
  "SELECT count(*) AS n FROM events WHERE match_phrase(raw, 'fault harness')",
  "SELECT min(timestamp_ns) AS a, max(timestamp_ns) AS b FROM events",
  "SELECT date_trunc('minute', timestamp) AS m, count(*) AS n FROM events GROUP BY ALL ORDER BY m",
] as const;

const LOAD_MS = 4_000;
/** A server that a flipped bit keeps from being ready is an error, and is not waited for long. */
const READY_MS_MAX = 25_000;

/** The rows as text; undefined for an error or an answer that says it is not whole. */
type Answer = string | undefined;

interface FlipPlace {
  readonly kind: string;
  readonly path: string;
}

export const FLIP: Fault = {
  name: "flip",
  summary: "one flipped bit of each kind of file; answers are right, errors, or say what they lack",
  unit: "flipped bits",
  weight: 1,
  round: async (arena) => {
    await using life = new Life(join(arena.folder, "data"), arena.random, {
      readyMsMax: READY_MS_MAX,
    });
    life.asksForDeletes = false;
    await fillTables(life);
    const right = await askAll(life.stack);
    const places = placesIn(life.dataDir);
    const told = { right: 0, errors: 0 };
    for (const place of places) await flipOne(arena, life, place, { right, told });
    const missing = KINDS.filter(({ name }) => !places.some(({ kind }) => kind === name));
    life.findings.push(...missing.map(({ name }) => `there was no ${name} to flip`));
    arena.progress(`${told.right} answers as before, ${told.errors} errors or not exact`);
    return outcomeOf(life, places.length);
  },
};

/** Rows in several data files and in a sealed segment that nobody drains; only queries go on. */
async function fillTables(life: Life): Promise<void> {
  await life.start();
  await life.load(() => delay(LOAD_MS));
  await until("rows are in a table", () => placesIn(life.dataDir).length >= KINDS.length - 1);
  await life.stack.stop("compactor");
  await life.load(() => delay(LOAD_MS / 4));
  await until("a segment is sealed", () => placesIn(life.dataDir).length === KINDS.length);
  await life.senders.repeatUnanswered();
  for (const role of ["ingest", "query"] satisfies RoleName[]) await life.stack.stop(role);
  await life.stack.ensure("query");
  await life.checkBySql("before the flips");
}

async function flipOne(
  arena: Arena,
  life: Life,
  { kind, path }: FlipPlace,
  { right, told }: {
    readonly right: readonly Answer[];
    readonly told: { right: number; errors: number };
  },
): Promise<void> {
  await life.stack.stop("query");
  const whole = await Deno.readFile(path);
  const at = arena.random.below(whole.byteLength);
  const bit = arena.random.below(8);
  const bytes = whole.slice();
  bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
  await Deno.writeFile(path, bytes);
  const answers = await startAndAsk(life.stack);
  for (const [number, answer] of answers.entries()) {
    life.compared += 1;
    if (answer === undefined) told.errors += 1;
    else if (answer === right[number]) told.right += 1;
    else {
      life.findings.push(
        `bit ${bit} of byte ${at} of a ${kind} of ${whole.byteLength} bytes: another answer ` +
          `without a word to ${STATEMENTS[number]}`,
      );
    }
  }
  await life.stack.kill("query");
  await Deno.writeFile(path, whole);
  arena.progress(`${kind}: bit ${bit} of byte ${at}`);
}

async function startAndAsk(stack: Stack): Promise<readonly Answer[]> {
  try {
    await stack.ensure("query");
  } catch {
    // It says so and ends, or is never ready: an error to every statement.
    return STATEMENTS.map(() => undefined);
  }
  return await askAll(stack);
}

async function askAll(stack: Stack): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (const statement of STATEMENTS) {
    try {
      const answer = await stack.sql(statement, { limits: { max_rows_returned: 1_000_000 } });
      const { cost } = answer as unknown as { readonly cost?: { readonly exact?: boolean } };
      answers.push(cost?.exact === false ? undefined : JSON.stringify(answer.rows));
    } catch (error) {
      if (!(error instanceof Error) || !/^\d{3} /.test(error.message)) throw error;
      answers.push(undefined);
    }
  }
  return answers;
}

/** A file of each kind: the last one by name, which is the one in use. */
function placesIn(dataDir: string): readonly FlipPlace[] {
  const paths = [...filesBelow(dataDir)].sort();
  return KINDS.flatMap(({ name, path }) => {
    const last = paths.findLast((one) => path.test(one));
    return last === undefined ? [] : [{ kind: name, path: last }];
  });
}

function* filesBelow(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    const path = join(folder, name);
    if (isDirectory) yield* filesBelow(path);
    else yield path;
  }
}
