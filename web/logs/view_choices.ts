/** What a person chose for this browser and no link carries. */

import { signal } from "@preact/signals";

export type Density = "compact" | "comfortable";

const DENSITY_KEY = "svc.logs.density";
const FIELDS_KEY = "svc.logs.fields";
/** Below this the list of fields lies over the rows. */
const WIDE = matchMedia("(min-width: 900px)");

export const density = signal<Density>(
  localStorage.getItem(DENSITY_KEY) === "comfortable" ? "comfortable" : "compact",
);
/** Whether the list of fields is shown. A narrow screen begins without: it covers the rows. */
export const areFieldsShown = signal(WIDE.matches && localStorage.getItem(FIELDS_KEY) !== "away");

/** Pixels of a row on one line. */
export const ROW_PX: Readonly<Record<Density, number>> = { compact: 18, comfortable: 26 };

export function toggleDensity(): void {
  density.value = density.value === "compact" ? "comfortable" : "compact";
  localStorage.setItem(DENSITY_KEY, density.value);
}

export function toggleFields(): void {
  areFieldsShown.value = !areFieldsShown.value;
  if (WIDE.matches) localStorage.setItem(FIELDS_KEY, areFieldsShown.value ? "shown" : "away");
}
