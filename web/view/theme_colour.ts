/** Colours of the style sheet for what is drawn by script. */

import { effect } from "@preact/signals";
import { theme } from "../frame/theme.ts";

/** Returns the colour that `name`, such as `--error`, has in the theme that is shown. */
export function themeColour(name: `--${string}`): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Calls `draw` when the theme changes, by choice or by the system, until the result is called. */
export function onThemeChange(draw: () => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", draw);
  let isFirst = true;
  const end = effect(() => {
    theme.value;
    if (!isFirst) queueMicrotask(draw);
    isFirst = false;
  });
  return () => {
    system.removeEventListener("change", draw);
    end();
  };
}
