/**
 * A bound for the log, so that what passes through a store that is away does not fill a disk.
 * Warnings and errors that say the same of one thing after another are written so many times a
 * minute. One line counts the others.
 */

import type { LogRecord, Sink } from "@logtape/logtape";

/**
 * The most lines that are written of one template of one category in each minute that follows its
 * first.
 */
export const REPEATS_MAX = 30;
const WINDOW_MS = 60_000;

interface Repeats {
  count: number;
  last: LogRecord;
}

/** Hands on what may be written; what the timer of a minute has to say is said to `sink`, too. */
export function boundRepeats(sink: Sink): Sink & Disposable {
  let repeats = new Map<string, Repeats>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const endWindow = () => {
    const ended = repeats;
    repeats = new Map();
    timer = undefined;
    for (const { count, last } of ended.values()) {
      if (count > REPEATS_MAX) sink(countLine(last, count - REPEATS_MAX));
    }
  };
  const bounded = (record: LogRecord) => {
    if (record.level !== "warning" && record.level !== "error") return sink(record);
    const key = `${record.category.join(".")} ${templateOf(record)}`;
    const known = repeats.get(key);
    if (known === undefined) repeats.set(key, { count: 1, last: record });
    else {
      known.count += 1;
      known.last = record;
    }
    if (timer === undefined) {
      timer = setTimeout(endWindow, WINDOW_MS);
      Deno.unrefTimer(timer);
    }
    if ((known?.count ?? 1) <= REPEATS_MAX) sink(record);
  };
  const dispose = () => {
    clearTimeout(timer);
    endWindow();
  };
  return Object.assign(bounded, { [Symbol.dispose]: dispose });
}

function countLine(last: LogRecord, more: number): LogRecord {
  const rawMessage = "{more} more lines of this minute are left out that say: {template}";
  const template = templateOf(last);
  const message = ["", more, " more lines of this minute are left out that say: ", template, ""];
  return { ...last, rawMessage, message, properties: { more, template } };
}

function templateOf({ rawMessage }: LogRecord): string {
  return typeof rawMessage === "string" ? rawMessage : rawMessage.join("{}");
}
