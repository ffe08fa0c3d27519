/** The pictures of README.md: one table, from which `screenshots.ts` makes them. */

import type { Page } from "playwright-core";

export interface Picture {
  /** `docs/pictures/<name>-<theme>.png`. */
  readonly name: string;
  /** What README.md says of it. */
  readonly alt: string;
  /** Path and query below `/ui/`. */
  readonly address: string;
  /** There once the page is as it should be seen. */
  readonly ready: string;
  /** What a user does before the picture is taken. */
  readonly act?: (page: Page) => Promise<void>;
}

export const THEMES = ["dark", "light"] as const;

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
    name: "patterns",
    alt: "The same rows grouped by their shape, with counts and shares",
    address: "?range=60m&view=patterns",
    ready: ".patterns button",
  },
  {
    name: "status",
    alt: "Rates, freshness, backlog and memory of the servers over the last hour",
    address: "status",
    ready: ".chart .now",
  },
];
