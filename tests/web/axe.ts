/** What axe-core finds on a page: WCAG 2.2 A and AA, in the dark and the light theme. */

import { deepStrictEqual } from "node:assert/strict";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { isTrueIn, PAINTED } from "./page_lab.ts";

/** All rules in one theme. Another one changes colours alone, so there these are asked again. */
const RULES_BY_THEME = {
  dark: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  light: { type: "rule", values: ["color-contrast", "link-in-text-block"] },
} as const;

/**
 * In the page: whether no answer is awaited, or a dialog asks first. An answer that is late fades
 * what it will replace.
 */
const SETTLED = `document.querySelector("dialog[open]") !== null ||
  document.querySelector(':is(main, .histogram)[aria-busy="true"]') === null`;

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/**
 * Asserts that the page, or its part `within`, breaks no rule in either theme as it is now. The
 * theme is put back.
 */
export async function expectAccessible(
  page: Page,
  { within = ":root" }: { readonly within?: string } = {},
): Promise<void> {
  if (within === ":root") await isTrueIn(page, SETTLED);
  // The Content-Security-Policy admits no script of a test, but the debugger may evaluate one.
  if (await page.evaluate("typeof axe") === "undefined") {
    await page.evaluate(`${axe.source}; undefined`);
  }
  const before = await page.evaluate<string>("document.documentElement.dataset.theme");
  for (const [theme, runOnly] of Object.entries(RULES_BY_THEME)) {
    await page.evaluate(`document.documentElement.dataset.theme = "${theme}"`);
    await page.evaluate(PAINTED);
    // Only violations leave the page: what passes is many times as much.
    const violations = await page.evaluate<readonly Violation[]>(
      `axe.run(${JSON.stringify(within)}, ${
        JSON.stringify({ runOnly, resultTypes: ["violations"] })
      }).then(({ violations }) => violations)`,
    );
    const told = violations.map(({ id, nodes }) => ({
      id,
      theme,
      nodes: nodes.map(({ html, failureSummary }) => `${html}\n${failureSummary}`),
    }));
    deepStrictEqual(told, []);
  }
  await page.evaluate(`document.documentElement.dataset.theme = "${before}"`);
}
