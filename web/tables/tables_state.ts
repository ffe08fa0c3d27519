/** What the page Tables shows. The address has the view, and the table that is open. */

import { batch, signal } from "@preact/signals";
import { RequestError } from "../api/request.ts";
import { noteQuery } from "../frame/router.ts";
import { poll } from "../view/poll.ts";
import type { IndexTemplate } from "../../shared/schema/index_template.ts";
import {
  type DeleteTask,
  fetchTable,
  listDeleteTasks,
  type ListedTable,
  listTables,
  listTemplates,
  removeIndex,
  removeTemplate,
  type TableDetails,
} from "./table_client.ts";

const VIEWS = ["tables", "templates", "deletes"] as const;
export type TablesView = typeof VIEWS[number];

const TASK_TIMES = { leastMs: 1_000, mostMs: 15_000 };

export const view = signal<TablesView>("tables");
export const tables = signal<readonly ListedTable[] | undefined>(undefined);
export const templates = signal<readonly IndexTemplate[] | undefined>(undefined);
export const tasks = signal<readonly DeleteTask[] | undefined>(undefined);
export const failure = signal<string | undefined>(undefined);
/** Name of the open table. */
export const openName = signal<string | undefined>(undefined);
export const details = signal<TableDetails | undefined>(undefined);
export const detailsFailure = signal<string | undefined>(undefined);

/** What is asked to be removed, until its name is typed. */
export const removing = signal<
  { readonly kind: "index" | "template"; readonly id: string } | undefined
>(
  undefined,
);

let asking = new AbortController();
let opened = new AbortController();
let polling = new AbortController();

/** Shows what the address asks. */
export function readAddress(asked: URLSearchParams): void {
  const wanted = VIEWS.find((one) => one === asked.get("view")) ?? "tables";
  batch(() => {
    view.value = wanted;
    setTable(asked.get("table") ?? undefined);
  });
  load();
}

/** Shows a view as it is now: rows may have been deleted since it was shown last. */
export function show(next: TablesView): void {
  view.value = next;
  noteQuery(address());
  load();
  loadTable();
}

/** Opens a table, or closes the one that is open. */
export function openTable(name: string | undefined): void {
  batch(() => {
    view.value = "tables";
    setTable(name);
  });
  noteQuery(address());
}

function address(): URLSearchParams {
  return new URLSearchParams({
    ...(view.value === "tables" ? {} : { view: view.value }),
    ...(openName.value === undefined ? {} : { table: openName.value }),
  });
}

function setTable(name: string | undefined): void {
  if (name === openName.value) return;
  openName.value = name;
  details.value = undefined;
  loadTable();
}

/** Asks for what is shown again. */
export function load(): void {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  told(failure, signal, async () => {
    if (view.value === "tables") tables.value = await listTables({ signal });
    else if (view.value === "templates") templates.value = await listTemplates({ signal });
  });
}

export function loadTable(): void {
  opened.abort();
  opened = new AbortController();
  const { signal } = opened;
  const name = openName.value;
  detailsFailure.value = undefined;
  if (name === undefined) return;
  told(detailsFailure, signal, async () => {
    details.value = await fetchTable(name, { signal });
  });
}

/** Follows the delete tasks until the result is called. */
export function followTasks(): () => void {
  polling.abort();
  polling = new AbortController();
  const { signal } = polling;
  const ask = async () => {
    let isOpen = false;
    await told(failure, signal, async () => {
      tasks.value = await listDeleteTasks({ signal });
      isOpen = tasks.value.some(({ status }) => status === "pending" || status === "running");
    });
    return isOpen;
  };
  poll(ask, { ...TASK_TIMES, signal });
  return () => polling.abort();
}

/** Removes what `removing` names. */
export async function remove(): Promise<void> {
  const wanted = removing.value;
  if (wanted === undefined) return;
  removing.value = undefined;
  const { signal } = asking;
  await told(failure, signal, async () => {
    if (wanted.kind === "index") {
      await removeIndex(wanted.id, { signal });
      openTable(undefined);
    } else await removeTemplate(wanted.id, { signal });
    load();
  });
}

async function told(
  place: { value: string | undefined },
  signal: AbortSignal,
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act();
    place.value = undefined;
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof RequestError)) throw error;
    place.value = error.message;
  }
}
