/** Log lines as an agent that follows files sends them: little besides the text. */

import type { LogLine } from "./log_lines.ts";
import { mix, pick } from "./mix.ts";
import { MARKS, RESOURCE_ROWS, type Severity, type Shape, type TemplateRow } from "./shape.ts";

const HOSTS = 40;
const FILES_PER_HOST = 50;
const POSITIONS = 100_000_000;
const SALT = { system: 51, host: 52, line: 53, file: 54, position: 55 };

export function linesShape(lines: readonly LogLine[]): Shape {
  const bySystem = Object.entries(Object.groupBy(lines, ({ system }) => system))
    .map(([system, own = []]) => ({ system, own }));
  return {
    name: "lines",
    summary: "log lines of eight systems as an agent sends them: the file, the place, an id",
    templateRows: 100_000,
    hasTrace: false,
    subject: {
      top: ["log.file.name"],
      number: ["log.file.position"],
      lookup: { path: ["log.record.uid"] },
      newest: { service: mostErrors(bySystem), severity: "ERROR" },
    },
    template: (index) => template(index, bySystem),
  };
}

interface SystemLines {
  readonly system: string;
  readonly own: readonly LogLine[];
}

function template(index: number, bySystem: readonly SystemLines[]): TemplateRow {
  const group = Math.floor(index / RESOURCE_ROWS);
  const { system, own } = pick(bySystem, mix(group, SALT.system));
  const { text } = pick(own, mix(index, SALT.line));
  const host = `host-${mix(group, SALT.host) % HOSTS}`;
  return {
    service: system,
    host,
    severity: severityOfText(text),
    body: `${text} req=${MARKS.id}`,
    attributes: {
      "log.file.name": `${host}-${system}.${mix(index, SALT.file) % FILES_PER_HOST}.log`,
      "log.file.position": mix(index, SALT.position) % POSITIONS,
      "log.record.uid": MARKS.id,
    },
  };
}

/** What an agent that looks for the usual words makes of a line. */
export function severityOfText(text: string): Severity {
  if (/\b(?:FATAL|ERROR|error|fail(?:ed|ure)?)\b/i.test(text)) return { number: 17, text: "ERROR" };
  if (/\bwarn(?:ing)?\b/i.test(text)) return { number: 13, text: "WARN" };
  return { number: 9, text: "INFO" };
}

function mostErrors(bySystem: readonly SystemLines[]): string {
  const counted = bySystem.map(({ system, own }) => ({
    system,
    errors: own.filter(({ text }) => severityOfText(text).text === "ERROR").length / own.length,
  }));
  return counted.toSorted((a, b) => b.errors - a.errors)[0]?.system ?? "";
}
