/** The form that deletes rows: first a count, then the table's name, then the task. */

import { computed, signal } from "@preact/signals";
import { RequestError } from "../api/request.ts";
import { type DeleteFault, faultOf } from "./delete_fault.ts";
import { countRows, type DeleteWish, submitDelete } from "./table_client.ts";
import { show } from "./tables_state.ts";

/** The form; undefined: it is closed. */
export const wish = signal<DeleteWish | undefined>(undefined);
/** What the form as it is now would take. */
export const count = signal<{ readonly found: number; readonly all: number } | undefined>(
  undefined,
);
export const fault = signal<DeleteFault | undefined>(undefined);
export const isBusy = signal(false);
export const confirmed = signal("");

/** Whether the rows were counted, there are some, and the table's name was typed. */
export const mayDelete = computed(() =>
  !isBusy.value && (count.value?.found ?? 0) > 0 && confirmed.value === wish.value?.table
);

let running = new AbortController();

export function openDelete(table: string): void {
  wish.value = { table, predicate: "", from: "", to: "" };
  forget();
}

export function closeDelete(): void {
  running.abort();
  wish.value = undefined;
}

/** Changes the form: a count of something else is none of it. */
export function changeDelete(change: Partial<DeleteWish>): void {
  if (wish.value === undefined) return;
  wish.value = { ...wish.value, ...change };
  forget();
}

function forget(): void {
  running.abort();
  running = new AbortController();
  count.value = undefined;
  fault.value = undefined;
  confirmed.value = "";
  isBusy.value = false;
}

export async function countFirst(): Promise<void> {
  const asked = wish.value;
  if (asked === undefined) return;
  forget();
  fault.value = faultOf(asked);
  if (fault.value !== undefined) return;
  await run(async (signal) => {
    count.value = await countRows(asked, { signal });
  });
}

export async function deleteRows(): Promise<void> {
  const asked = wish.value;
  if (asked === undefined || !mayDelete.value) return;
  await run(async (signal) => {
    await submitDelete(asked, { signal });
    wish.value = undefined;
    show("deletes");
  });
}

async function run(act: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const { signal } = running;
  isBusy.value = true;
  try {
    await act(signal);
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof RequestError)) throw error;
    fault.value = { place: "predicate", message: error.message };
  } finally {
    if (running.signal === signal) isBusy.value = false;
  }
}
