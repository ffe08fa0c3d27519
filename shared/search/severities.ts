/**
 * The levels of logs: their order, the names that programs give them, and the numbers that
 * OpenTelemetry gives them (https://opentelemetry.io/docs/specs/otel/logs/data-model/).
 */

/** A level, by the name that searches and pages use. */
export type Severity = "trace" | "debug" | "info" | "warn" | "error" | "fatal";

interface SeverityKind {
  /** In lower case. */
  readonly names: readonly string[];
  /** First and last `severity_number`. */
  readonly numbers: readonly [first: number, last: number];
}

/** From the least to the most severe. */
export const SEVERITIES: Readonly<Record<Severity, SeverityKind>> = {
  trace: { names: ["trace", "trc", "verbose", ...numbered("trace")], numbers: [1, 4] },
  debug: { names: ["debug", "dbg", "fine", ...numbered("debug")], numbers: [5, 8] },
  info: {
    names: ["info", "inf", "information", "informational", "notice", ...numbered("info")],
    numbers: [9, 12],
  },
  warn: { names: ["warn", "wrn", "warning", ...numbered("warn")], numbers: [13, 16] },
  error: { names: ["error", "err", "severe", ...numbered("error")], numbers: [17, 20] },
  fatal: {
    names: [
      ...["fatal", "ftl", "critical", "crit", "alert", "emerg", "emergency", "panic"],
      ...numbered("fatal"),
    ],
    numbers: [21, 24],
  },
};

const ORDER = Object.keys(SEVERITIES) as Severity[];

/** Returns the level that has this name, in any case. */
export function severityOf(name: string): Severity | undefined {
  const lower = name.toLowerCase();
  return ORDER.find((severity) => SEVERITIES[severity].names.includes(lower));
}

/** Returns the levels that compare so with `bound`, least severe first. */
export function severitiesBeside(
  operator: "<" | "<=" | ">" | ">=",
  bound: Severity,
): readonly Severity[] {
  const at = ORDER.indexOf(bound);
  switch (operator) {
    case "<":
      return ORDER.slice(0, at);
    case "<=":
      return ORDER.slice(0, at + 1);
    case ">":
      return ORDER.slice(at + 1);
    case ">=":
      return ORDER.slice(at);
  }
}

/** Returns every way in which logs write a level: in lower case, in capitals, and capitalized. */
export function spellingsOf(severity: Severity): readonly string[] {
  return SEVERITIES[severity].names.flatMap((name) => [
    name,
    name.toUpperCase(),
    `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`,
  ]);
}

/** OpenTelemetry's short names of the steps within a level. */
function numbered(name: string): readonly string[] {
  return [2, 3, 4].map((step) => `${name}${step}`);
}
