/** The page Tables: tables and managed indexes, templates, and what is being deleted. */

import type { JSX } from "preact";
import { useKeys } from "../frame/keys.tsx";
import { usePlace } from "../frame/router.ts";
import { bytesText } from "../view/bytes_text.ts";
import { countText, wholeText } from "../view/number_text.ts";
import { TimeView } from "../view/time_view.tsx";
import { DeleteForm } from "./delete_form.tsx";
import { DeleteTasks } from "./delete_tasks_view.tsx";
import { formView, openForm } from "./form_loader.ts";
import { RemoveDialog } from "./remove_dialog.tsx";
import { periodText } from "./period_text.ts";
import type { ListedTable } from "./table_client.ts";
import { TableDetailsView } from "./table_details_view.tsx";
import {
  failure,
  openName,
  openTable,
  readAddress,
  removing,
  show,
  tables,
  type TablesView,
  templates,
  view,
} from "./tables_state.ts";

const KINDS: Readonly<Record<ListedTable["kind"], string>> = {
  built_in: "built in",
  index: "index",
  unconfigured: "not configured",
};

export function TablesPage(): JSX.Element {
  const ConfigForm = formView.value;
  usePlace("tables", readAddress);
  useKeys([
    { key: "j", does: "goes to the next table", run: () => openBeside(1) },
    { key: "k", does: "goes to the table before", run: () => openBeside(-1) },
    { key: "Escape", does: "closes the table", run: () => openTable(undefined) },
  ]);
  return (
    <>
      <nav class="views" aria-label="View">
        <ViewButton name="tables" label="Tables" />
        <ViewButton name="templates" label="Templates" />
        <ViewButton name="deletes" label="Deletions" />
        <span class="gap" />
        {view.value !== "deletes" && (
          <button
            type="button"
            class="main"
            onClick={() => openForm(view.value === "templates" ? "template" : "index")}
          >
            {view.value === "templates" ? "New template" : "New index"}
          </button>
        )}
      </nav>
      <main class="tables" data-open={view.value === "tables" && openName.value !== undefined}>
        {failure.value !== undefined && <p class="failure" role="alert">{failure.value}</p>}
        {view.value === "tables" && (
          <>
            <TableList />
            {openName.value !== undefined && <TableDetailsView />}
          </>
        )}
        {view.value === "templates" && <TemplateList />}
        {view.value === "deletes" && <DeleteTasks />}
      </main>
      {ConfigForm !== undefined && <ConfigForm />}
      <DeleteForm />
      <RemoveDialog />
    </>
  );
}

function openBeside(by: 1 | -1): void {
  const all = tables.value ?? [];
  const at = all.findIndex(({ table }) => table === openName.value);
  const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
  if (next !== undefined) openTable(next.table);
}

function ViewButton({ name, label }: {
  readonly name: TablesView;
  readonly label: string;
}): JSX.Element {
  return (
    <button type="button" aria-pressed={view.value === name} onClick={() => show(name)}>
      {label}
    </button>
  );
}

function TableList(): JSX.Element {
  const all = tables.value;
  if (all === undefined) {
    return <p class="empty">{failure.value === undefined ? "Loading tables…" : ""}</p>;
  }
  return (
    <div class="table-list" tabIndex={0} role="group" aria-label="Tables">
      <table class="facts">
        <thead>
          <tr>
            <th scope="col">Table</th>
            <th scope="col" class="more">Kind</th>
            <th scope="col" class="number">Rows</th>
            <th scope="col" class="number">Bytes</th>
            <th scope="col" class="number more">Files</th>
            <th scope="col" class="number more">Kept for</th>
            <th scope="col" class="more">Last commit</th>
          </tr>
        </thead>
        <tbody>
          {all.map((one) => (
            <tr key={one.table} data-selected={one.table === openName.value}>
              <th scope="row">
                <button type="button" class="link" onClick={() => openTable(one.table)}>
                  {one.table}
                </button>
              </th>
              <td class="more">{KINDS[one.kind]}</td>
              <td class="number">{one.rows === null ? "?" : wholeText(one.rows)}</td>
              <td class="number">{one.bytes === null ? "?" : bytesText(one.bytes)}</td>
              <td class="number more">{one.files === null ? "?" : wholeText(one.files)}</td>
              <td class="number more">{periodText(one.retention_secs)}</td>
              <td class="more">
                {one.committed_at === undefined
                  ? "nothing yet"
                  : <TimeView ms={Date.parse(one.committed_at)} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note">
        {countText(all.length, "table")}. Rows that are not committed yet are not counted.
      </p>
    </div>
  );
}

function TemplateList(): JSX.Element {
  const all = templates.value;
  if (all === undefined) {
    return <p class="empty">{failure.value === undefined ? "Loading templates…" : ""}</p>;
  }
  if (all.length === 0) {
    return (
      <section class="empty">
        <h2>No templates</h2>
        <p>
          A template is the configuration that an index gets when its first rows arrive under a name
          that nobody configured.
        </p>
      </section>
    );
  }
  return (
    <div class="table-list" tabIndex={0} role="group" aria-label="Templates">
      <table class="facts">
        <thead>
          <tr>
            <th scope="col">Template</th>
            <th scope="col">For names like</th>
            <th scope="col" class="number">Priority</th>
            <th scope="col" class="number more">Fields</th>
            <th scope="col" class="number more">Kept for</th>
            <th scope="col">Actions</th>
          </tr>
        </thead>
        <tbody>
          {all.map((one) => (
            <tr key={one.template_id}>
              <th scope="row">{one.template_id}</th>
              <td>{one.index_id_patterns.join(", ")}</td>
              <td class="number">{one.priority}</td>
              <td class="number more">{one.doc_mapping.field_mappings.length}</td>
              <td class="number more">{periodText(one.retention?.period_secs)}</td>
              <td>
                <button type="button" onClick={() => openForm("template", one.template_id)}>
                  Change
                </button>{" "}
                <button
                  type="button"
                  onClick={() => removing.value = { kind: "template", id: one.template_id }}
                >
                  Remove
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
