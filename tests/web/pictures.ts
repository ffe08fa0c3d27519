/** The pictures of README.md: one table, from which `screenshots.ts` makes them. */

import type { Page } from "playwright-core";

export interface Picture {
  /** `docs/pictures/<name>-<theme>.webp`. */
  readonly name: string;
  /** What README.md says of it. */
  readonly alt: string;
  /** Path and query below `/ui/`. */
  readonly address: string;
  /** There once the page is as it should be seen. */
  readonly ready: string;
  /** Whether rows come while it is taken. */
  readonly isLive?: boolean;
  /** What a user does before the picture is taken. */
  readonly act?: (page: Page) => Promise<void>;
}

export const THEMES = ["dark", "light"] as const;

const STATEMENT = `SELECT date_trunc('minute', timestamp) AS minute, source, count(*) AS n
FROM events
WHERE timestamp > now() - INTERVAL 1 HOUR
GROUP BY ALL
ORDER BY minute, source`;

export const PICTURES: readonly Picture[] = [
  {
    name: "logs",
    alt: "Logs of the last hour over their histogram by severity, one row open",
    address: "?range=60m&q=level:>=warn",
    ready: ".row",
    act: async (page) => {
      await page.click(".row:nth-child(2) .line");
      await page.waitForSelector(".fields");
    },
  },
  {
    name: "live",
    alt: "Live rows: those that came since somebody scrolled away wait behind their number",
    address: "?range=15m&live=1&column=http.status_code&column=duration_ms",
    ready: ".row",
    isLive: true,
    act: async (page) => {
      await page.mouse.move(700, 500);
      await page.mouse.wheel(0, 400);
      await page.locator(".pending-pill", { hasText: /^\d\d/ }).waitFor();
    },
  },
  {
    name: "patterns",
    alt: "The same rows grouped by their shape, with counts and shares",
    address: "?range=60m&view=patterns",
    ready: ".patterns button",
  },
  {
    name: "traces",
    alt: "One trace as a waterfall: the critical path, an error, and the logs that its spans wrote",
    address: "traces?service=frontend&operation=POST+/checkout&range=60m&order=errors",
    ready: ".trace-row",
    act: async (page) => {
      await page.click('.trace-row[data-failed="true"]');
      await page.waitForSelector(".span-row .bar");
      await page.click('.span-row:has-text("charge")');
    },
  },
  {
    name: "sql",
    alt: "A statement in the editor, and its result as a line for each service",
    address: `sql?${new URLSearchParams({ query: STATEMENT })}`,
    ready: ".sql-result table",
    act: async (page) => {
      await page.getByRole("group", { name: "Show as" }).getByText(/chart/i).click();
      await page.waitForSelector(".plot canvas");
    },
  },
];
