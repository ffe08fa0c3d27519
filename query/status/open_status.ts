/** The history of the status, from the options: whose metrics are read, and where. */

import { getLogger } from "@logtape/logtape";
import { messageOf, UsageError } from "../../shared/base/errors.ts";
import type { Settings } from "../../shared/config/options.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { STATUS_OPTIONS } from "./status_flags.ts";
import { type Scrape, StatusHistory } from "./status_history.ts";

/** A scrape of some thousand lanes is 1 MiB. */
const SCRAPE_BYTES_MAX = 16 * 1024 * 1024;

/** Errors: `invalid_argument` for what is no URL. */
export function openStatus(
  settings: Settings<typeof STATUS_OPTIONS>,
  { clock, metrics }: {
    readonly clock: Clock;
    /** The query server's own. */
    readonly metrics: { render(accept: null): Promise<{ readonly text: string }> };
  },
): StatusHistory {
  const { ingestMetricsUrl: ingest, compactorMetricsUrl: compactor } = settings;
  return new StatusHistory({
    clock,
    scrapes: {
      query: async () => (await metrics.render(null)).text,
      ...(ingest === undefined ? {} : { ingest: scrapeOf(ingest, "--ingest-metrics-url") }),
      ...(compactor === undefined
        ? {}
        : { compactor: scrapeOf(compactor, "--compactor-metrics-url") }),
    },
  });
}

function scrapeOf(text: string, option: string): Scrape {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new UsageError(
      `Cannot read metrics at ${JSON.stringify(text)} of ${option}: give a URL such as ` +
        "http://127.0.0.1:9100/metrics",
    );
  }
  let isAway = false;
  return async (signal) => {
    try {
      const response = await fetch(url, { signal });
      const found = await boundedText(response);
      isAway = false;
      return response.ok ? found : undefined;
    } catch (error) {
      if (!isAway && !signal.aborted) {
        getLogger(["svc", "query"]).warn("no status of {url}: {why}", {
          url: url.href,
          why: messageOf(error),
        });
      }
      isAway = true;
      return undefined;
    }
  };
}

async function boundedText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of body ?? []) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > SCRAPE_BYTES_MAX) throw new Error(`it is longer than ${SCRAPE_BYTES_MAX}`);
  }
  return text;
}
