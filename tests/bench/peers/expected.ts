/** What is right: computed from the numbers of the rows, without any system. */

import {
  type Answer,
  counted,
  minuteKey,
  ranked,
  type RightAnswer,
  type Scope,
  single,
  type SystemQuestion,
} from "./question.ts";
import { durationOf, idOf, isRare, ROWS_PER_TRACE, timeNsOf } from "./row_numbers.ts";
import type { AttributeValue, Shape, TemplateRow } from "./shape.ts";
import { MARKS } from "./shape.ts";

type Range = readonly [number, number];

/** A percentile may be off by so many places in the order of values. */
const RANKS_MIN = 2;
const RANKS_SHARE = 0.01;

/** What is kept of each template. */
interface Templates {
  readonly rows: readonly TemplateRow[];
  readonly tops: readonly string[];
  readonly numbers: readonly AttributeValue[];
  readonly hasPart: readonly boolean[];
  readonly hasPhrase: readonly boolean[];
  readonly hasRegex: readonly boolean[];
}

/** The right answers over rows 0 to `total - 1`. */
export function expectedAnswers(
  shape: Shape,
  scope: Scope,
  total: number,
): Readonly<Record<SystemQuestion, RightAnswer>> {
  const templates = templatesOf(shape, scope, total);
  const tally = new Tally();
  const rare: string[] = [];
  for (let row = 0; row < total; row += 1) {
    const at = row % shape.templateRows;
    const template = templates.rows[at];
    if (template === undefined) continue;
    const ms = Number(timeNsOf(row, total) / 1_000n) / 1_000;
    const number = templates.numbers[at];
    tally.add({
      ms,
      inRange: ms >= scope.fromMs && ms < scope.toMs,
      template,
      top: templates.tops[at] ?? "",
      number: number === MARKS.duration ? durationOf(row) : Number(number),
    });
    tally.part += Number(templates.hasPart[at]);
    tally.phrase += Number(templates.hasPhrase[at]);
    tally.regex += Number(templates.hasRegex[at]);
    if (isRare(row, total)) rare.push(idOf(row, total));
  }
  return {
    range: single(tally.inRange),
    service: tally.services,
    minute: tally.minutes,
    rare: counted(rare),
    part: single(tally.part),
    phrase: single(tally.phrase),
    newest: newestOf(shape, scope, total),
    lookup: lookupOf(scope, total),
    top: ranked(topCounts(tally.tops)),
    average: averagesOf(tally.numbers),
    regex: single(tally.regex),
    rows: single(scope.rowsOut),
  };
}

class Tally {
  inRange = 0;
  part = 0;
  phrase = 0;
  regex = 0;
  readonly services = new Map<string, number>();
  readonly minutes = new Map<string, number>();
  readonly tops = new Map<string, number>();
  readonly numbers = new Map<string, number[]>();

  add(row: {
    readonly ms: number;
    readonly inRange: boolean;
    readonly template: TemplateRow;
    readonly top: string;
    readonly number: number;
  }): void {
    const { service, severity } = row.template;
    this.inRange += Number(row.inRange);
    count(this.services, service);
    count(this.minutes, minuteKeyOf(row.ms, severity.text));
    count(this.tops, row.top);
    const numbers = this.numbers.get(service);
    if (numbers === undefined) this.numbers.set(service, [row.number]);
    else numbers.push(row.number);
  }
}

let lastMinute = { minute: -1, severity: "", key: "" };

/** Neighbours share their minute, and making its text takes longer than all else. */
function minuteKeyOf(ms: number, severity: string): string {
  const minute = Math.floor(ms / 60_000);
  if (lastMinute.minute !== minute || lastMinute.severity !== severity) {
    lastMinute = { minute, severity, key: minuteKey(ms, severity) };
  }
  return lastMinute.key;
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function templatesOf(shape: Shape, scope: Scope, total: number): Templates {
  const rows = Array.from(
    { length: Math.min(shape.templateRows, total) },
    (_, i) => shape.template(i),
  );
  const phrase = new RegExp(`\\b${scope.phrase.join(" ")}\\b`);
  const regex = new RegExp(scope.regex);
  return {
    rows,
    tops: rows.map((row) => String(attributeAt(row.attributes, scope.subject.top))),
    numbers: rows.map((row) => attributeAt(row.attributes, scope.subject.number)),
    hasPart: rows.map(({ body }) => body.includes(scope.part)),
    hasPhrase: rows.map(({ body }) => phrase.test(body)),
    hasRegex: rows.map(({ body }) => regex.test(body)),
  };
}

function attributeAt(value: AttributeValue, path: readonly string[]): AttributeValue {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const inner = typeof value === "object" ? value[name] : undefined;
  if (inner === undefined) throw new Error(`no attribute ${path.join(".")}`);
  return attributeAt(inner, rest);
}

function newestOf(shape: Shape, { subject, newestRows }: Scope, total: number): Answer {
  const found: string[] = [];
  for (let row = total - 1; row >= 0 && found.length < newestRows; row -= 1) {
    const { service, severity } = shape.template(row % shape.templateRows);
    if (service === subject.newest.service && severity.text === subject.newest.severity) {
      found.push(idOf(row, total));
    }
  }
  return counted(found);
}

/** What is right for `lookup`. */
export function lookupOf({ subject, lookupRow }: Scope, total: number): Answer {
  if (subject.lookup !== "trace") return counted([idOf(lookupRow, total)]);
  const first = lookupRow - lookupRow % ROWS_PER_TRACE;
  const rows = Array.from({ length: ROWS_PER_TRACE }, (_, i) => first + i);
  return counted(rows.filter((row) => row < total).map((row) => idOf(row, total)));
}

function topCounts(counts: ReadonlyMap<string, number>): number[] {
  return [...counts.values()].sort((a, b) => b - a).slice(0, 10);
}

/**
 * By service the mean, and the values between which a 95th percentile lies: systems interpolate or
 * estimate it, each in its way.
 */
function averagesOf(numbers: ReadonlyMap<string, readonly number[]>): RightAnswer {
  return new Map([...numbers].flatMap(([service, values]): [string, number | Range][] => {
    const sorted = Float64Array.from(values).sort();
    const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
    const rank = 0.95 * (sorted.length - 1);
    const slack = Math.max(RANKS_MIN, RANKS_SHARE * sorted.length);
    const at = (place: number) => sorted[Math.min(sorted.length - 1, Math.max(0, place))] ?? 0;
    return [
      [`${service} avg`, mean],
      [`${service} p95`, [at(Math.floor(rank - slack)), at(Math.ceil(rank + slack))]],
    ];
  }));
}
