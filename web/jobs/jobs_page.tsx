/** The page Jobs: batch jobs with their progress, and one of them with its result. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { signIns } from "../api/session.ts";
import { useKeys } from "../frame/keys.tsx";
import { PlaceLink } from "../frame/place_link.tsx";
import { usePlace } from "../frame/router.ts";
import { bytesText } from "../view/bytes_text.ts";
import { Figure, Moment } from "../view/figure.tsx";
import { countText, durationText, wholeText } from "../view/number_text.ts";
import { TimeView } from "../view/time_view.tsx";
import { isOpen, type Job, type JobStatus } from "./job_client.ts";
import { ResultTable } from "./result_table.tsx";
import {
  cancel,
  doing,
  download,
  followJobs,
  hasOlder,
  job,
  jobFailure,
  jobs,
  listFailure,
  loadOlder,
  openId,
  openJob,
  readAddress,
  result,
  resultFailure,
  ROWS_MAX,
} from "./jobs_state.ts";

const SIGNS: Readonly<Record<JobStatus, string>> = {
  pending: "◷",
  running: "▶",
  succeeded: "✓",
  failed: "!",
  cancelled: "×",
  timeout: "!",
};

export function JobsPage(): JSX.Element {
  usePlace("jobs", readAddress);
  useEffect(followJobs, [signIns.value]);
  useKeys([
    { key: "j", does: "goes to the next job", run: () => openBeside(1) },
    { key: "k", does: "goes to the job before", run: () => openBeside(-1) },
    { key: "Escape", does: "closes the job", run: () => openJob(undefined) },
  ]);
  return (
    <main class="jobs" data-open={openId.value !== undefined}>
      <section class="job-list" aria-label="Batch jobs">
        {listFailure.value !== undefined && <p class="failure" role="alert">{listFailure.value}</p>}
        <JobList />
      </section>
      {openId.value !== undefined && <OpenJob />}
    </main>
  );
}

function openBeside(by: 1 | -1): void {
  const all = jobs.value ?? [];
  const at = all.findIndex(({ job_id }) => job_id === openId.value);
  const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
  if (next !== undefined) openJob(next.job_id);
}

function JobList(): JSX.Element {
  const all = jobs.value;
  if (all === undefined) {
    const isLoading = listFailure.value === undefined;
    return <p class="empty" aria-live="polite">{isLoading ? "Loading jobs…" : ""}</p>;
  }
  if (all.length === 0) return <NoJobs />;
  const open = all.filter(isOpen).length;
  return (
    <>
      <p class="sum" aria-live="polite">
        {countText(all.length, "job")}
        {open > 0 && `, ${open} not ended`}
      </p>
      <ol>
        {all.map((one) => <JobRow key={one.job_id} job={one} />)}
      </ol>
      {hasOlder.value && (
        <p class="sum">
          <button type="button" onClick={loadOlder}>Older jobs</button>
        </p>
      )}
    </>
  );
}

function JobRow({ job: one }: { readonly job: Job }): JSX.Element {
  const { job_id: id, query, submitted_at } = one;
  return (
    <li class="job-row" data-state={one.status} data-selected={id === openId.value}>
      <button type="button" class="open" onClick={() => openJob(id)}>
        <State status={one.status} />
        <code>{query.trim().replaceAll(/\s+/g, " ").slice(0, 300)}</code>
      </button>
      <span class="when">
        <TimeView ms={Date.parse(submitted_at)} />
        <span>{tookText(one)}</span>
      </span>
      {isOpen(one) && <Progress job={one} />}
    </li>
  );
}

function State({ status }: { readonly status: JobStatus }): JSX.Element {
  return (
    <span class="state" data-state={status}>
      <span aria-hidden="true">{SIGNS[status]}</span> {status}
    </span>
  );
}

/** How long it ran, or has been running. */
function tookText({ started_at, ended_at }: Job): string {
  if (started_at === undefined) return "";
  const end = ended_at === undefined ? Date.now() : Date.parse(ended_at);
  return durationText(Math.max(0, end - Date.parse(started_at)));
}

function Progress({ job: { progress } }: { readonly job: Job }): JSX.Element {
  const percent = progress?.percent;
  return (
    <span class="progress">
      {percent !== undefined && <progress aria-label="Progress" max={100} value={percent} />}
      <span>
        {percent !== undefined && `${Math.round(percent)}% · `}
        {progress === undefined ? "waits for its turn" : `${wholeText(progress.rows)} rows read`}
      </span>
    </span>
  );
}

function OpenJob(): JSX.Element {
  const shown = job.value;
  const id = openId.value ?? "";
  return (
    <section class="open-job" aria-label="Job">
      <header>
        <h2>Job</h2>
        <code>{id}</code>
        <span class="gap" />
        <button type="button" onClick={() => openJob(undefined)}>Close</button>
      </header>
      {jobFailure.value !== undefined && <p class="failure" role="alert">{jobFailure.value}</p>}
      {shown !== undefined && <JobDetails job={shown} />}
    </section>
  );
}

function JobDetails({ job: shown }: { readonly job: Job }): JSX.Element {
  const { job_id: id, query, status, cost, error } = shown;
  const sql = new URLSearchParams({ query });
  return (
    <>
      <dl class="figures">
        <Figure name="State">
          <State status={status} />
        </Figure>
        <Moment name="Submitted" at={shown.submitted_at} />
        <Moment name="Started" at={shown.started_at} />
        <Moment name="Ended" at={shown.ended_at} />
        <Figure name="Ran">{tookText(shown) || "not yet"}</Figure>
        {cost !== undefined && (
          <Figure name="Estimated">
            {countText(cost.files_to_scan, "file")}, {bytesText(cost.estimated_bytes_scanned)},{" "}
            {countText(cost.estimated_rows_processed, "row")}
          </Figure>
        )}
      </dl>
      {isOpen(shown) && (
        <p class="acts">
          <Progress job={shown} />
          <button
            type="button"
            disabled={doing.value === "cancelling"}
            onClick={() => cancel(id)}
          >
            Cancel the job
          </button>
        </p>
      )}
      {error !== undefined && <p class="failure" role="alert">{error}</p>}
      <pre class="statement" tabIndex={0} aria-label="Statement">{query}</pre>
      <p class="acts">
        <PlaceLink path="sql" query={sql}>
          Open the statement in SQL
        </PlaceLink>
      </p>
      {status === "succeeded" && <Result id={id} />}
    </>
  );
}

function Result({ id }: { readonly id: string }): JSX.Element {
  const shown = result.value;
  const isBusy = doing.value === "downloading";
  return (
    <section class="result" aria-label="Result">
      {resultFailure.value !== undefined && (
        <p class="failure" role="alert">{resultFailure.value}</p>
      )}
      <p class="acts">
        <strong>
          {shown === undefined
            ? "Loading the result…"
            : countText(shown.row_count ?? shown.rows.length, "row")}
        </strong>
        {shown?.truncated === true && <span>cut at the row limit of the job</span>}
        {shown !== undefined && (shown.row_count ?? 0) > ROWS_MAX && (
          <span>the first {ROWS_MAX} are shown</span>
        )}
        <span class="gap" />
        <button type="button" disabled={isBusy} onClick={() => download(id, "csv")}>
          Download CSV
        </button>
        <button type="button" disabled={isBusy} onClick={() => download(id, "json")}>
          Download JSON
        </button>
      </p>
      {shown !== undefined && <ResultTable columns={shown.columns} rows={shown.rows} />}
    </section>
  );
}

/** What a batch job is for, and how one comes about. */
function NoJobs(): JSX.Element {
  return (
    <section class="empty">
      <h2>No batch jobs</h2>
      <p>
        A batch job runs a statement that takes longer than a page waits. Its result is kept for a
        day. Run one from the page SQL, or with curl:
      </p>
      <pre>{EXAMPLE}</pre>
      <p>It is listed here as soon as it is accepted.</p>
    </section>
  );
}

const EXAMPLE = `curl -X POST ${new URL("../api/v1/sql", location.href)} \\
  -H 'content-type: application/json' \\
  -d '{"query":"SELECT count(*) FROM events","priority":"batch"}'`;
