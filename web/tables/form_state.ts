/** The form of an index or a template: what is typed, what is wrong, and how it is saved. */

import { signal } from "@preact/signals";
import { RequestError } from "../api/request.ts";
import type { IndexConfig } from "../../shared/schema/doc_mapping.ts";
import type { IndexTemplate } from "../../shared/schema/index_template.ts";
import {
  type ConfigDraft,
  type DraftFault,
  draftOf,
  judgeDraft,
  newDraft,
} from "./config_draft.ts";
import { fetchIndex, fetchTemplate, saveIndex, saveTemplate } from "./table_client.ts";
import { failure, load, loadTable, openTable } from "./tables_state.ts";

export interface OpenForm {
  readonly draft: ConfigDraft;
  /** What it changes; undefined: it makes a new one. */
  readonly before: IndexConfig | IndexTemplate | undefined;
  readonly etag: string | undefined;
  readonly fault: DraftFault | undefined;
  readonly isSaving: boolean;
}

/** The form; undefined: it is closed. */
export const form = signal<OpenForm | undefined>(undefined);

let running = new AbortController();

/** Opens an empty form. */
export function newForm(kind: ConfigDraft["kind"]): void {
  form.value = {
    draft: newDraft(kind),
    ...{ before: undefined, etag: undefined, fault: undefined, isSaving: false },
  };
}

/** Opens the form of what there is, as the server has it now. */
export async function editForm(kind: ConfigDraft["kind"], id: string): Promise<void> {
  running.abort();
  running = new AbortController();
  const { signal } = running;
  try {
    const { value, etag } =
      await (kind === "index" ? fetchIndex(id, { signal }) : fetchTemplate(id, { signal }));
    form.value = {
      draft: draftOf(value),
      ...{ before: value, etag, fault: undefined, isSaving: false },
    };
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof RequestError)) throw error;
    failure.value = error.message;
  }
}

export function closeForm(): void {
  running.abort();
  form.value = undefined;
}

/** Changes the form. A fault that is shown is judged anew, so that it goes when it is mended. */
export function changeForm(draft: ConfigDraft): void {
  const open = form.value;
  if (open === undefined) return;
  const judged = open.fault === undefined ? undefined : judgeDraft(draft, open.before);
  const fault = judged !== undefined && "fault" in judged ? judged.fault : undefined;
  form.value = { ...open, draft, fault };
}

/** Saves the form. What the server refuses is told in it, and nothing that was typed is lost. */
export async function saveForm(): Promise<void> {
  const open = form.value;
  if (open === undefined || open.isSaving) return;
  const judged = judgeDraft(open.draft, open.before);
  if ("fault" in judged) {
    form.value = { ...open, fault: judged.fault };
    return;
  }
  form.value = { ...open, isSaving: true, fault: undefined };
  const { config } = judged;
  running.abort();
  running = new AbortController();
  const { signal } = running;
  try {
    if ("index_id" in config) await saveIndex(config, { etag: open.etag, signal });
    else await saveTemplate(config, { etag: open.etag, signal });
    form.value = undefined;
    if ("index_id" in config) openTable(config.index_id);
    load();
    loadTable();
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof RequestError)) throw error;
    const place = error.status === 409 ? "id" : "";
    form.value = { ...open, fault: { place, message: error.message }, isSaving: false };
  }
}
