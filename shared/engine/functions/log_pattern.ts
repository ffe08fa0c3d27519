/**
 * `log_pattern(text)`: the shape of a line of a log, in which `<*>` stands for each part that
 * differs from line to line. Lines of one statement of a program get one shape, so `GROUP BY
 * log_pattern(raw)` counts them together. NULL gives NULL. See docs/api/query.md#functions.
 *
 * Such a part is a UUID, a hexadecimal number of eight digits or more, a text in double quotes, or
 * an English date. Digits are one, too, also joined as in times, addresses, versions and decimals.
 * The first of these that fits counts, from the left. One regular expression has them all: each
 * further pass over a text would cost as much again.
 */

const HEX = "[0-9a-fA-F]";

/** From the longest to the shortest: the first that fits counts. */
const PARTS = [
  `${HEX}{8}-${HEX}{4}-${HEX}{4}-${HEX}{4}-${HEX}{12}`,
  String.raw`\b(?:0x)?${HEX}{8,}\b`,
  '"[^"]*"',
  "(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? )?" +
  "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +[0-9]+",
  "-?[0-9]+(?:[.:,/T-][0-9]+)*Z?",
];

export const LOG_PATTERN = `CREATE MACRO log_pattern(text) AS
  regexp_replace(text, '${PARTS.map((part) => `(?:${part})`).join("|")}', '<*>', 'g')`;
