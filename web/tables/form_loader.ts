/** Loads the form of indexes and templates when it is first opened: the rules are large. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { loadPart } from "../api/load_part.ts";
import { failure } from "./tables_state.ts";

/** The form; undefined until it is loaded. */
export const formView = signal<(() => JSX.Element | null) | undefined>(undefined);

/** Opens the form of what there is; without `id` that of something new. */
export async function openForm(kind: "index" | "template", id?: string): Promise<void> {
  const load = () => Promise.all([import("./config_form.tsx"), import("./form_state.ts")]);
  const parts = await loadPart(load, new AbortController().signal).catch((error: Error) => {
    failure.value = error.message;
  });
  if (parts === undefined) return;
  const [{ ConfigForm }, { newForm, editForm }] = parts;
  formView.value = ConfigForm;
  if (id === undefined) newForm(kind);
  else await editForm(kind, id);
}
