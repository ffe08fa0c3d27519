/**
 * The two text formats of a scrape (docs/clients.md#prometheus-and-kubernetes). OpenMetrics is
 * derived from the Prometheus text: the library's own switch renames its counters for good, so that
 * one scrape would spoil the next.
 */

export const TEXT_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";
export const OPENMETRICS_CONTENT_TYPE =
  "application/openmetrics-text; version=1.0.0; charset=utf-8";

/**
 * Prometheus text as OpenMetrics 1.0: counter families lose `_total`, no blank lines, `# EOF` at
 * the end.
 */
export function openMetricsText(text: string): string {
  const lines = text.split("\n").filter((line) => line !== "");
  const counters = new Set(
    lines.flatMap((line) => /^# TYPE (\S+_total) counter$/.exec(line)?.[1] ?? []),
  );
  const renamed = lines.map((line) => {
    const comment = /^(# (?:HELP|TYPE) )(\S+)( .*)$/.exec(line);
    const [, start, name, rest] = comment ?? [];
    if (name === undefined || !counters.has(name)) return line;
    return `${start}${name.slice(0, -"_total".length)}${rest}`;
  });
  return `${renamed.join("\n")}\n# EOF\n`;
}
