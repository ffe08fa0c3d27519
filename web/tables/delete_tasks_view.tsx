/** What was asked to be deleted, and how far it is. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { signIns } from "../api/session.ts";
import { countText, wholeText } from "../view/number_text.ts";
import { TimeView } from "../view/time_view.tsx";
import type { DeleteTask } from "./table_client.ts";
import { failure, followTasks, tasks } from "./tables_state.ts";

export function DeleteTasks(): JSX.Element {
  useEffect(followTasks, [signIns.value]);
  const all = tasks.value;
  if (all === undefined) {
    return <p class="empty">{failure.value === undefined ? "Loading deletions…" : ""}</p>;
  }
  if (all.length === 0) {
    return (
      <section class="empty">
        <h2>No deletions</h2>
        <p>Open a table and choose "Delete rows…". What is being deleted is followed here.</p>
      </section>
    );
  }
  return (
    <ol class="tasks">
      {all.map((task) => <Task key={task.task_id} task={task} />)}
    </ol>
  );
}

function Task({ task }: { readonly task: DeleteTask }): JSX.Element {
  const { index_id, predicate_sql, start_ts, end_ts, status, created_at, error } = task;
  return (
    <li data-state={status}>
      <p class="acts">
        <span class="state" data-state={status}>{status}</span>
        <strong>{index_id}</strong>
        <TimeView ms={Date.parse(created_at)} />
        <span class="gap" />
        <Progress task={task} />
      </p>
      <pre tabIndex={0} aria-label="Condition">{predicate_sql}</pre>
      {(start_ts !== null || end_ts !== null) && (
        <p class="note">
          {start_ts !== null && `from ${start_ts} `}
          {end_ts !== null && `to ${end_ts}`}
        </p>
      )}
      {error !== undefined && <p class="failure" role="note">{error}</p>}
    </li>
  );
}

function Progress({ task }: { readonly task: DeleteTask }): JSX.Element {
  const { status, progress, claim, rows_deleted, files_rewritten } = task;
  if (status === "done") {
    return (
      <span>
        {countText(rows_deleted, "row")} deleted, {countText(files_rewritten, "file")} rewritten
      </span>
    );
  }
  if (status === "failed") return <span>nothing deleted</span>;
  if (progress === undefined) {
    return <span>{claim?.present === true ? "begins" : "waits for a compactor"}</span>;
  }
  const { files_done, files_total, rows_matched } = progress;
  return (
    <span class="progress">
      <progress aria-label="Progress" max={Math.max(1, files_total)} value={files_done} />
      <span>
        {wholeText(files_done)} of {countText(files_total, "file")},{" "}
        {countText(rows_matched, "row")} found
      </span>
    </span>
  );
}
