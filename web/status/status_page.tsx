/** How the servers do: rates, backlog, waiting statements and memory over the last hour. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { signIns } from "../api/session.ts";
import { TimeView } from "../view/time_view.tsx";
import { ChartView } from "./chart_view.tsx";
import { CHARTS } from "./status_charts.ts";
import type { Role, Stall, Status } from "./status_answer.ts";
import { failure, followStatus, status } from "./status_state.ts";

export function StatusPage(): JSX.Element {
  useEffect(() => {
    const leaving = new AbortController();
    followStatus(leaving.signal);
    return () => leaving.abort();
  }, [signIns.value]);
  const shown = status.value;
  return (
    <main class="status">
      {failure.value !== undefined && <p class="failed" role="alert">{failure.value}</p>}
      {shown === undefined && failure.value === undefined && (
        <p class="empty" aria-live="polite">Loading the status…</p>
      )}
      {shown !== undefined && <Roles shown={shown} />}
      {shown !== undefined && shown.stalls.length > 0 && <Stalls stalls={shown.stalls} />}
      {shown !== undefined && shown.times.length < 2 && (
        <p class="quiet">
          The query server has just begun to look. Rates are there in {shown.every_secs} seconds.
        </p>
      )}
      {shown !== undefined && (
        <div class="charts">
          {CHARTS.filter((plan) => isKnown(plan.lines, shown)).map((plan) => (
            <ChartView key={plan.title} plan={plan} status={shown} />
          ))}
        </div>
      )}
    </main>
  );
}

/** Charts of roles that the server was not told of are left out. */
function isKnown(lines: readonly (readonly [string, string])[], { series, roles }: Status) {
  return lines.some(([name]) => {
    const role = series.find((one) => one.name === name)?.role;
    return roles.some((one) => one.role === role && one.state !== "not_configured");
  });
}

const STATES: Readonly<Record<Role["state"], string>> = {
  up: "up",
  away: "does not answer",
  not_configured: "not known here",
};

function Roles({ shown: { roles, times } }: { readonly shown: Status }): JSX.Element {
  const last = times.at(-1);
  return (
    <ul class="roles" aria-label="Servers">
      {roles.map(({ role, state }) => (
        <li key={role} class={state}>
          <strong>{role}</strong> {STATES[state]}
          {state === "not_configured" && (
            <span class="quiet">
              ; start the query server with <code>--{role}-metrics-url</code>
            </span>
          )}
        </li>
      ))}
      {last !== undefined && (
        <li class="quiet">
          as of <TimeView ms={last} text={new Date(last).toLocaleTimeString()} />
        </li>
      )}
    </ul>
  );
}

/** What does not get on, and where its reason is told. */
function Stalls({ stalls }: { readonly stalls: readonly Stall[] }): JSX.Element {
  return (
    <ul class="stalls" role="alert" aria-label="What does not get on">
      {stalls.map((one) => (
        <li key={`${one.role} ${one.kind} ${one.name} ${one.step}`}>
          <strong>{one.role}</strong> {stallText(one)} since <TimeView ms={one.since_ms} />
        </li>
      ))}
      <li class="quiet">The log of that server has the text of each error.</li>
    </ul>
  );
}

function stallText({ kind, name, step, why }: Stall): string {
  if (kind === "role") return "is not ready, and its /readyz says why,";
  if (kind === "thread") return `has left a thread behind that ${name}; it takes a core`;
  const what = kind === "lane" ? `lane ${name}` : `${step} of table ${name}`;
  const where = kind === "lane" ? ` in step ${step}` : "";
  return `${what} does not get on (${why}${where})`;
}
