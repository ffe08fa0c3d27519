/**
 * Index names with the date in them, as Logstash makes its first index: `<logs-{now/d}-000001>` is
 * `logs-2026.01.02-000001`. Only a part of the original's date mathematics is read: `now`, rounded
 * to a unit or not, in its usual format.
 */

const DATE_MATH =
  /^<([^<>{}]*)\{now(?:\/[yMwdhHms])?(?:\{(yyyy\.MM\.dd|yyyy-MM-dd|yyyy\.MM|yyyy)\})?\}([^<>{}]*)>$/;

/**
 * The name that `text` stands for on that day, in UTC; `text` itself where it is no such
 * expression.
 */
export function resolvedName(text: string, nowMs: number): string {
  const [, before = "", format = "yyyy.MM.dd", after = ""] = DATE_MATH.exec(text) ?? [];
  if (before === "" && after === "") return text;
  const [year = "", month = "", day = ""] = new Date(nowMs).toISOString().slice(0, 10).split("-");
  const date = format.replace("yyyy", year).replace("MM", month).replace("dd", day);
  return `${before}${date}${after}`;
}
