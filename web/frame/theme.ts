/** Dark or light: by the system, or as the user chose in this browser. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "dark" | "light";

const KEY = "svc.theme";
const THEMES: readonly Theme[] = ["system", "dark", "light"];

export const theme = signal<Theme>(
  THEMES.find((known) => known === localStorage.getItem(KEY)) ?? "system",
);

/** Goes on to the next theme. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
  if (theme.value === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme.value);
});
