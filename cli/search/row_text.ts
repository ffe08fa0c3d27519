/**
 * A row of logs as one line: time, level, where from, text, and everything else as `name=value`.
 * Whatever a terminal would obey is written as an escape.
 */

import { isJsonObject } from "../../shared/document/json_object.ts";
import { LEVEL_ATTRIBUTES, LEVEL_NUMBER } from "../../shared/search/search_fields.ts";
import { type Severity, severityOf } from "../../shared/search/severities.ts";
import type { JsonValue } from "../sql/exact_json.ts";
import { displayWidth, printable } from "../sql/display_width.ts";

const STYLES = {
  dim: "2",
  trace: "2",
  debug: "2",
  info: "32",
  warn: "33",
  error: "31",
  fatal: "1;31",
} as const satisfies Record<Severity | "dim", string>;

export interface RowTextOptions {
  /** Names of the columns whose texts come first. */
  readonly texts: readonly string[];
  /** Use ANSI colours. */
  readonly isStyled: boolean;
}

/** Columns that have a place of their own, or say what another column says. */
const PLACED = new Set([
  ...["timestamp", "timestamp_ns", "source", "service", "host", "sourcetype", "index"],
  "attributes",
]);
const LEVEL_WIDTH = 5;

/** Returns the line of a row; `row` is by the names of its columns. */
export function rowText(
  row: Readonly<Record<string, JsonValue>>,
  { texts, isStyled }: RowTextOptions,
): string {
  const paint = (style: keyof typeof STYLES, text: string) =>
    isStyled && text !== "" ? `\x1b[${STYLES[style]}m${text}\x1b[0m` : text;
  const attributes = attributesOf(row["attributes"]);
  const level = levelOf(row, attributes);
  const severity = severityOf(level);
  const shownLevel = padded(printable(level), LEVEL_WIDTH);
  const rest = Object.entries({ ...others(row, texts), ...attributes })
    .filter(([name, value]) => value !== null && !isLevel(name))
    .map(([name, value]) => `${printable(name)}=${valueText(value)}`);
  return [
    paint("dim", printable(textOf(row["timestamp"]))),
    severity === undefined ? shownLevel : paint(severity, shownLevel),
    printable(textOf(row["source"] ?? row["service"])),
    ...texts.map((name) => printable(textOf(row[name]))),
    paint("dim", rest.join(" ")),
  ].filter((part) => part !== "").join(" ");
}

function others(
  row: Readonly<Record<string, JsonValue>>,
  texts: readonly string[],
): Record<string, JsonValue> {
  return Object.fromEntries(
    Object.entries(row).filter(([name]) => !PLACED.has(name) && !texts.includes(name)),
  );
}

function isLevel(name: string): boolean {
  return LEVEL_ATTRIBUTES.includes(name) || name === LEVEL_NUMBER;
}

function levelOf(
  row: Readonly<Record<string, JsonValue>>,
  attributes: Readonly<Record<string, JsonValue>>,
): string {
  const names = LEVEL_ATTRIBUTES.map((name) => row[name] ?? attributes[name]);
  return textOf(names.find((name) => name !== undefined && name !== null));
}

/** A text that is no JSON object is shown as it is. */
function attributesOf(value: JsonValue | undefined): Readonly<Record<string, JsonValue>> {
  if (typeof value !== "string") return {};
  try {
    const parsed: unknown = JSON.parse(value);
    return isJsonObject(parsed) ? parsed as Record<string, JsonValue> : { attributes: value };
  } catch {
    return { attributes: value };
  }
}

function valueText(value: JsonValue): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return printable(/[\s"=]/.test(text) && typeof value === "string" ? JSON.stringify(text) : text);
}

function textOf(value: JsonValue | undefined): string {
  return value === undefined || value === null ? "" : String(value);
}

function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - displayWidth(text)));
}
