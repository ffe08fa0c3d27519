/** Results as Markdown tables. Pure. */

import { formatBytes } from "../../../shared/base/bytes.ts";
import { QUESTION_NAMES, type QuestionName, QUESTIONS } from "./question.ts";
import type {
  FailedResult,
  IngestResult,
  MachineResult,
  QuestionResult,
  Result,
  SkippedResult,
  SystemResult,
} from "./result.ts";
import type { ShapeName } from "./shape.ts";
import { SHAPE_NAMES } from "./shapes.ts";
import type { SystemName } from "./systems/system.ts";

const NOTHING = "–";

/** The blocks of a page by their names: `run`, and one for each shape that was measured. */
export function reportBlocks(results: readonly Result[]): ReadonlyMap<string, string> {
  const shapes = SHAPE_NAMES.filter((shape) =>
    results.some((result) => "shape" in result && result.shape === shape)
  );
  const blocks = new Map<string, string>();
  if (shapes.length === 0) return blocks;
  blocks.set("run", runBlock(results));
  for (const shape of shapes) blocks.set(shape, shapeBlock(results, shape));
  if (shapes.includes("services")) blocks.set("short", shortBlock(results));
  return blocks;
}

/** When, where, and what each system is. */
function runBlock(results: readonly Result[]): string {
  const machines = results.filter((result): result is MachineResult =>
    result.measure === "machine"
  );
  const runs = machines.map(({ date, cores, memoryBytes, rows, lines }) => {
    const counts = Object.entries(rows).map(([shape, count]) => `${shape} ${formatRows(count)}`);
    return `- ${date.slice(0, 10)}, ${cores} cores, ${formatBytes(memoryBytes)}; rows: ` +
      `${counts.join(", ")}; log lines: ${lines}`;
  });
  const systems = systemsOf(results).map(({ title, version, durability, settings }) =>
    tableRow([title, version, durability, settings])
  );
  const skipped = [...unique(results, "skipped") as Map<SystemName, SkippedResult>].map(
    ([, { title, reason }]) => `- ${title} was skipped: ${reason}`,
  );
  return [
    ...new Set(runs),
    "",
    tableRow(["", "Version", "Before it acknowledges", "Settings"]),
    rule(4),
    ...systems,
    ...(skipped.length === 0 ? [] : ["", ...skipped]),
  ].join("\n");
}

function shapeBlock(results: readonly Result[], shape: ShapeName): string {
  const own = results.filter((result) => "shape" in result && result.shape === shape);
  const systems = systemsOf(results).filter(({ system }) =>
    own.some((result) => "system" in result && result.system === system)
  );
  const head = (first: string) => [
    tableRow([first, ...systems.map(({ title }) => title)]),
    rule(systems.length + 1),
  ];
  const names = systems.map(({ system }) => system);
  return [
    ...head("Question: median ms, processor ms, ms the first time"),
    ...questionRows(own, names),
    "",
    ...head("Rows in"),
    ...ingestRows(own, names),
    ...notes(own, results),
  ].join("\n");
}

function questionRows(own: readonly Result[], systems: readonly SystemName[]): string[] {
  const asked = questionsOf(own);
  const rows = QUESTION_NAMES.filter((name) => asked.some(({ question }) => question === name));
  const find = (system: SystemName, name: QuestionName) =>
    asked.find((result) => result.system === system && result.question === name);
  const lines = rows.map((name) => {
    const cells = systems.map((system) => find(system, name));
    const best = least(cells.map((result) => isRight(result) ? result.cpuMs : undefined));
    return tableRow([QUESTIONS[name], ...cells.map((result) => questionCell(result, best))]);
  });
  const common = rows.filter((name) =>
    systems.every((system) => find(system, name)?.cpuMs !== undefined)
  );
  const sums = systems.map((system) =>
    common.reduce((sum, name) => sum + (find(system, name)?.cpuMs ?? 0), 0)
  );
  const label = `sum of processor ms, the ${common.length} that all were asked`;
  return common.length === 0 ? lines : [...lines, tableRow([label, ...emphasized(sums, formatMs)])];
}

function questionCell(result: QuestionResult | undefined, best: number | undefined): string {
  if (result?.cpuMs === undefined) return NOTHING;
  const cpu = formatMs(result.cpuMs);
  const figures = [
    formatMs(result.medianMs),
    result.cpuMs === best ? `**${cpu}**` : cpu,
    formatMs(result.firstMs),
  ].join(" · ");
  return result.wrong === undefined ? figures : `${figures} *wrong*`;
}

type Figure = (system: SystemName) => number | undefined;

function ingestRows(own: readonly Result[], systems: readonly SystemName[]): string[] {
  const load = (system: SystemName, batch: number) =>
    own.find((result): result is IngestResult =>
      result.measure === "ingest" && result.system === system && result.batch === batch
    );
  const of = <M extends Result["measure"]>(measure: M, system: SystemName) =>
    own.find((result): result is Extract<Result, { measure: M; system: SystemName }> =>
      result.measure === measure && "system" in result && result.system === system
    );
  const line = (label: string, figure: Figure, format: (value: number) => string, most = false) => {
    const values = systems.map(figure);
    return values.every((value) => value === undefined)
      ? []
      : [tableRow([label, ...emphasized(values, format, most)])];
  };
  const text = (label: string, cell: (system: SystemName) => string | undefined) =>
    tableRow([label, ...systems.map((system) => cell(system) ?? NOTHING)]);
  return [
    ...line("rows/s, 500 a request", (system) => load(system, 500)?.rowsPerSec, formatRows, true),
    ...line("rows/s, 50 a request", (system) => load(system, 50)?.rowsPerSec, formatRows, true),
    ...[500, 50].flatMap((batch) => [
      ...line(
        `µs of processor time a row until settled, ${batch} a request`,
        (system) => load(system, batch)?.cpuUsPerRow,
        formatMs,
      ),
      ...line(
        `while rows were sent, ${batch} a request`,
        (system) => load(system, batch)?.sendingCpuUsPerRow,
        formatMs,
      ),
    ]),
    text("s from the first row to settled, 500 a request", (system) => {
      const result = load(system, 500);
      return result && `${result.secs.toFixed(0)}${result.settled ? "" : ", not yet"}`;
    }),
    text("peak memory while rows came", (system) => {
      const peaks = Object.entries(load(system, 500)?.peakBytesByRole ?? {})
        .filter(([role]) => role !== "dev");
      return peaks.map(([role, bytes]) =>
        peaks.length === 1 ? formatBytes(bytes) : `${role} ${formatBytes(bytes)}`
      ).join(", ") || undefined;
    }),
    ...line(
      "memory of all processes while asked",
      (system) => of("memory while asked", system)?.residentBytes,
      formatBytes,
    ),
    ...line("bytes a row, live", (system) => load(system, 500)?.liveBytesPerRow, formatMs),
    ...line("bytes a row on disk", (system) => load(system, 500)?.diskBytesPerRow, formatMs),
    ...line(
      "ms from acknowledged to visible",
      (system) => of("visible", system)?.medianMs,
      formatMs,
    ),
    ...line("s from start to ready", (system) => of("start", system)?.readySecs, formatSecs),
    ...line(
      "s from start to the first answer",
      (system) => of("start", system)?.answeredSecs,
      formatSecs,
    ),
  ];
}

/** What the tables leave out: wrong answers, questions that were not asked, parts that failed. */
function notes(own: readonly Result[], results: readonly Result[]): string[] {
  const titles = new Map(systemsOf(results).map(({ system, title }) => [system, title]));
  const asked = questionsOf(own).flatMap(({ system, question, wrong, unasked }) => {
    const what = `${titles.get(system)}, ${QUESTIONS[question]}`;
    if (wrong !== undefined) return [`- ${what}: wrong, ${wrong}`];
    return unasked === undefined ? [] : [`- ${what}: not asked, ${unasked}`];
  });
  const unseen = own.flatMap((result) =>
    result.measure === "visible" && result.unasked !== undefined
      ? [
        `- ${
          titles.get(result.system)
        }, from acknowledged to visible: not asked, ${result.unasked}`,
      ]
      : []
  );
  const failed = own.filter((result): result is FailedResult => result.measure === "failed")
    .map(({ system, part, reason }) => `- ${titles.get(system)}: ${part} failed, ${reason}`);
  const lines = [...asked, ...unseen, ...failed];
  return lines.length === 0 ? [] : ["", ...lines];
}

/** Median milliseconds alone. */
function shortBlock(results: readonly Result[]): string {
  const asked = questionsOf(results).filter(({ shape }) => shape === "services");
  const systems = systemsOf(results).filter(({ system }) =>
    asked.some((result) => result.system === system)
  );
  const rows = QUESTION_NAMES.filter((name) => asked.some(({ question }) => question === name))
    .map((name) => {
      const values = systems.map(({ system }) => {
        const result = asked.find((one) => one.system === system && one.question === name);
        return isRight(result) ? result.medianMs : undefined;
      });
      return tableRow([QUESTIONS[name], ...emphasized(values, formatMs)]);
    });
  return [
    tableRow(["Question, median ms", ...systems.map(({ title }) => title)]),
    rule(systems.length + 1),
    ...rows,
  ].join("\n");
}

function systemsOf(results: readonly Result[]): readonly SystemResult[] {
  return [...unique(results, "system").values()] as SystemResult[];
}

/** The last result of each system, in the order of their first. */
function unique(
  results: readonly Result[],
  measure: "system" | "skipped",
): ReadonlyMap<SystemName, Result> {
  return new Map(
    results.flatMap((result) =>
      result.measure === measure ? [[result.system, result] as const] : []
    ),
  );
}

function questionsOf(results: readonly Result[]): readonly QuestionResult[] {
  return results.filter((result): result is QuestionResult => result.measure === "question");
}

function isRight(result: QuestionResult | undefined): result is QuestionResult {
  return result?.cpuMs !== undefined && result.wrong === undefined;
}

/** The best is bold: the least, or the most. */
function emphasized(
  values: readonly (number | undefined)[],
  format: (value: number) => string,
  most = false,
): string[] {
  const best = most ? greatest(values) : least(values);
  return values.map((value) => {
    if (value === undefined || Number.isNaN(value)) return NOTHING;
    return value === best ? `**${format(value)}**` : format(value);
  });
}

function least(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value): value is number => value !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

function greatest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value): value is number => value !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

function tableRow(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function rule(columns: number): string {
  return `|${"---|".repeat(columns)}`;
}

function formatRows(count: number): string {
  return Math.round(count).toLocaleString("en-US");
}

/** Two digits that say something, at least. */
function formatMs(value: number | undefined): string {
  if (value === undefined) return NOTHING;
  if (value >= 99.95) return Math.round(value).toLocaleString("en-US");
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

function formatSecs(secs: number): string {
  return secs.toFixed(2);
}
