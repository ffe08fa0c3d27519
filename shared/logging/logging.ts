/**
 * Where log records go: one line each on stderr,
 * `2026-11-20T21:04:05.123Z INF ingest lane opened lane=default/events`.
 *
 * The category's first part (`svc`) is left out. Properties that the message does not name itself
 * follow it as `key=value`, quoted when they hold anything but plain text. A line is never broken
 * by its values. Repeated warnings and errors are bounded: `repeat_bound.ts`.
 */

import { configure, type LogLevel, type LogRecord, reset, type Sink } from "@logtape/logtape";
import { boundRepeats } from "./repeat_bound.ts";

/** The levels that `SVC_LOG` takes. */
export const LOG_LEVELS = ["debug", "info", "warning", "error"] as const;
export type LogThreshold = typeof LOG_LEVELS[number];

export interface LoggingOptions {
  readonly level: LogThreshold;
  /** Takes one line without its end; default: stderr. */
  readonly writeLine?: (line: string) => void;
}

/**
 * Sends records of category `svc` and its children to stderr. Call once, at the start of a process.
 */
export async function configureLogging(options: LoggingOptions): Promise<void> {
  const writeLine = options.writeLine ?? writeStderrLine;
  const sink: Sink = boundRepeats((record) => writeLine(formatRecord(record)));
  await configure({
    reset: true,
    sinks: { stderr: sink },
    loggers: [
      { category: ["svc"], sinks: ["stderr"], lowestLevel: options.level },
      { category: ["logtape", "meta"], sinks: ["stderr"], lowestLevel: "warning" },
    ],
  });
}

/** Undoes `configureLogging`: records go nowhere. */
export function resetLogging(): Promise<void> {
  return reset();
}

const LEVEL_WORDS: Readonly<Record<LogLevel, string>> = {
  trace: "TRC",
  debug: "DBG",
  info: "INF",
  warning: "WRN",
  error: "ERR",
  fatal: "FTL",
};

/** One line without its end. */
export function formatRecord(record: LogRecord): string {
  const category = record.category[0] === "svc" ? record.category.slice(1) : record.category;
  const parts = [
    new Date(record.timestamp).toISOString(),
    LEVEL_WORDS[record.level],
    category.join("."),
    messageText(record),
  ];
  const named = placeholdersOf(record.rawMessage);
  for (const [key, value] of Object.entries(record.properties)) {
    if (!named.has(key)) parts.push(`${key}=${quoted(textOfValue(value))}`);
  }
  return parts.filter((part) => part !== "").join(" ");
}

/** The message with its values in place: even parts are text, odd parts are values. */
function messageText(record: LogRecord): string {
  return oneLine(
    record.message.map((part, at) => at % 2 === 0 ? String(part) : textOfValue(part)).join(""),
  );
}

function placeholdersOf(rawMessage: LogRecord["rawMessage"]): Set<string> {
  if (typeof rawMessage !== "string") return new Set();
  return new Set([...rawMessage.matchAll(/\{\s*([^{}]+?)\s*\}/g)].map((match) => match[1] ?? ""));
}

function textOfValue(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.message;
  if (typeof value === "object" && value !== null) {
    return JSON.stringify(
      value,
      (_key, member) => typeof member === "bigint" ? `${member}` : member,
    );
  }
  return String(value);
}

function quoted(text: string): string {
  return /^[^\s"=\p{Cc}]+$/u.test(text) ? text : JSON.stringify(text);
}

function oneLine(text: string): string {
  return text.replace(/\p{Cc}/gu, (control) => JSON.stringify(control).slice(1, -1));
}

const encoder = new TextEncoder();

function writeStderrLine(line: string): void {
  const bytes = encoder.encode(`${line}\n`);
  for (let at = 0; at < bytes.byteLength;) at += Deno.stderr.writeSync(bytes.subarray(at));
}
