/** Options of `deno task bench:peers`, as a table: parsing and `--help` come of it. */

import { UsageError } from "../../../shared/base/errors.ts";
import type { OptionTable, Settings } from "../../../shared/config/options.ts";
import { QUESTION_NAMES, type QuestionName } from "./question.ts";
import type { ShapeName } from "./shape.ts";
import { SHAPE_NAMES } from "./shapes.ts";
import type { SystemName } from "./systems/system.ts";

/** So few that an idle machine is done with all systems and shapes in some ten minutes. */
const DEFAULT_ROWS: Readonly<Record<ShapeName, number>> = {
  services: 60_000,
  lines: 40_000,
  wide: 40_000,
};
const SYSTEM_NAMES = ["svc", "victoria-logs", "clickhouse", "opensearch", "loki"] as const;
/** Requests have up to 500 rows, and a quarter of the rows is sent as well. */
const ROWS_UNIT = 1_000;
/** Fewer would lie so far apart that Loki refuses those of late requests. */
const ROWS_MIN = 40_000;

export const OPTIONS = {
  rows: {
    kind: "list",
    flag: "rows",
    placeholder: "[SHAPE=]COUNT",
    help: "Rows of each shape, or of one: 1000000, or services=2000000,lines=200000. Default " +
      `${Object.entries(DEFAULT_ROWS).map((pair) => pair.join("=")).join(",")}.`,
  },
  systems: {
    kind: "list",
    flag: "systems",
    placeholder: "NAMES",
    help: `Systems to measure, of ${SYSTEM_NAMES.join(", ")}; default: all.`,
    itemRequired: true,
  },
  shapes: {
    kind: "list",
    flag: "shapes",
    placeholder: "NAMES",
    help: `Shapes of data, of ${SHAPE_NAMES.join(", ")}; default: all, or those of --rows.`,
    itemRequired: true,
  },
  questions: {
    kind: "list",
    flag: "questions",
    placeholder: "NAMES",
    help: `Questions to ask, of ${QUESTION_NAMES.join(", ")}; default: all.`,
    itemRequired: true,
  },
  repeat: {
    kind: "integer",
    flag: "repeat",
    placeholder: "COUNT",
    default: 3,
    min: 1,
    max: 100,
    help: "Slices of each system and question, in turn; a slice has up to 25 requests.",
  },
  loadSecs: {
    kind: "integer",
    flag: "load-secs",
    placeholder: "SECS",
    default: 10,
    min: 1,
    max: 3_600,
    help:
      "Seconds after which a load stops; the rest of the rows comes in long requests, unmeasured.",
  },
  settleSecs: {
    kind: "integer",
    flag: "settle-secs",
    placeholder: "SECS",
    default: 120,
    min: 1,
    max: 3_600,
    help: "Seconds to wait until a system has nothing more to do after a load.",
  },
  lines: {
    kind: "text",
    flag: "lines",
    placeholder: "DIR",
    help: "Folder of *.log files whose lines rows have; without it lines are made up.",
  },
  cache: {
    kind: "text",
    flag: "cache",
    placeholder: "DIR",
    help: "Where systems are obtained into, once. Default: svc-bench-peers in $XDG_CACHE_HOME or " +
      "~/.cache.",
  },
  work: {
    kind: "text",
    flag: "work",
    placeholder: "DIR",
    help:
      "Folder for the data of the systems, on the disk to measure; a new one in it is removed at " +
      "the end. Default: the folder for temporary files.",
  },
  victoriaLogs: {
    kind: "text",
    flag: "victoria-logs",
    placeholder: "FILE",
    help: "An executable of VictoriaLogs to measure in place of the one that is built.",
  },
  lock: {
    kind: "text",
    flag: "lock",
    placeholder: "FILE",
    help: "A file to lock while something is measured, for benchmarks that share the machine.",
  },
  from: {
    kind: "list",
    flag: "from",
    placeholder: "FILES",
    help: "Measure nothing: make the tables of the output of earlier runs.",
    itemRequired: true,
  },
  pages: {
    kind: "list",
    flag: "pages",
    placeholder: "FILES",
    help: "Pages whose generated blocks are replaced by the tables.",
    itemRequired: true,
  },
} as const satisfies OptionTable;

export interface Plan {
  readonly rows: ReadonlyMap<ShapeName, number>;
  readonly systems: readonly SystemName[];
  readonly questions: readonly QuestionName[];
}

/** What is to be measured. Errors: `UsageError` for names and counts that cannot be. */
export function planOf(
  { rows, systems, shapes, questions }: Pick<
    Settings<typeof OPTIONS>,
    "rows" | "systems" | "shapes" | "questions"
  >,
): Plan {
  const counts = rowCounts(rows);
  const named = rows.some((item) => item.includes("="));
  const chosen = shapes.length > 0
    ? namesOf("--shapes", shapes, SHAPE_NAMES)
    : SHAPE_NAMES.filter((shape) => !named || counts.has(shape));
  return {
    rows: new Map(chosen.map((shape) => [shape, counts.get(shape) ?? DEFAULT_ROWS[shape]])),
    systems: systems.length > 0 ? namesOf("--systems", systems, SYSTEM_NAMES) : SYSTEM_NAMES,
    questions: questions.length > 0
      ? namesOf("--questions", questions, QUESTION_NAMES)
      : QUESTION_NAMES,
  };
}

function rowCounts(items: readonly string[]): ReadonlyMap<ShapeName, number> {
  return new Map(items.flatMap((item) => {
    const [count = "", name] = item.split("=").reverse();
    const rows = Number(count);
    if (!Number.isSafeInteger(rows) || rows < ROWS_MIN || rows % ROWS_UNIT !== 0) {
      throw new UsageError(
        `Cannot use --rows ${item}: it takes a multiple of ${ROWS_UNIT} from ${ROWS_MIN} on`,
      );
    }
    const shapes = name === undefined ? SHAPE_NAMES : namesOf("--rows", [name], SHAPE_NAMES);
    return shapes.map((shape) => [shape, rows] as const);
  }));
}

function namesOf<N extends string>(
  flag: string,
  given: readonly string[],
  known: readonly N[],
): readonly N[] {
  const wrong = given.find((name) => !(known as readonly string[]).includes(name));
  if (wrong !== undefined) {
    throw new UsageError(`Cannot use ${flag} ${wrong}: choose from ${known.join(", ")}`);
  }
  return known.filter((name) => given.includes(name));
}
