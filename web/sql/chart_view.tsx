/** A result as a picture: the kind follows from its columns, and can be changed. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { loadPart } from "../api/load_part.ts";
import type { Value } from "../api/sql_client.ts";
import { type Chart, type ChartKind, chartOfKind, chooseChart } from "./chart_choice.ts";
import { type ChartData, chartData } from "./chart_data.ts";
import type { ResultColumn } from "./column_kind.ts";
import { valueText } from "./value_text.ts";
import { wholeText } from "../view/number_text.ts";

interface Result {
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly (readonly Value[])[];
}

const KINDS: readonly ChartKind[] = ["line", "bar", "scatter", "number"];

export function ChartView({ columns, rows }: Result): JSX.Element {
  const [chosen, setChosen] = useState<Chart | undefined>(undefined);
  useEffect(() => setChosen(undefined), [rows]);
  const chart = chosen ?? chooseChart(columns, rows.length);
  const data = useMemo(
    () =>
      chart?.kind === "number" || chart === undefined ? undefined : chartData(chart, columns, rows),
    [chosen, rows],
  );
  if (chart === undefined) {
    return (
      <p class="no-chart">No column of this result is a number, so there is nothing to draw.</p>
    );
  }
  return (
    <section class="chart" aria-label="Chart">
      <ChartBar chart={chart} columns={columns} onChange={setChosen} />
      {chart.kind === "number" && <Figures chart={chart} columns={columns} row={rows[0] ?? []} />}
      {data !== undefined && chart.kind === "bar" && <Bars data={data} />}
      {data !== undefined && chart.kind !== "bar" && <Plot data={data} kind={chart.kind} />}
      {data !== undefined && data.leftOut > 0 && (
        <p class="left-out">
          {wholeText(data.leftOut)} more {chart.kind === "bar" ? "bars" : "series"} are left out.
        </p>
      )}
    </section>
  );
}

/** The kind and the columns of a chart, each a choice. */
function ChartBar({ chart, columns, onChange }: {
  readonly chart: Chart;
  readonly columns: readonly ResultColumn[];
  readonly onChange: (chart: Chart | undefined) => void;
}): JSX.Element {
  const numbers = [...columns.keys()].filter((at) => columns[at]?.kind === "number");
  const placeOf = (text: string) => text === "" ? undefined : Number(text);
  const places = [...columns.keys()];
  return (
    <div class="chart-bar">
      <Choice
        label="Chart"
        value={chart.kind}
        options={KINDS.map((kind) => [kind, kind])}
        onChoose={(kind) => onChange(chartOfKind(kind as ChartKind, columns))}
      />
      {chart.kind !== "number" && (
        <>
          <Choice
            label="Across"
            value={String(chart.x ?? "")}
            options={[["", "row number"], ...named(places, columns)]}
            onChoose={(text) => onChange({ ...chart, x: placeOf(text) })}
          />
          <Choice
            label="Up"
            value={chart.y.length === 1 ? String(chart.y[0]) : ""}
            options={[["", "all numbers"], ...named(numbers, columns)]}
            onChoose={(text) => onChange({ ...chart, y: text === "" ? numbers : [Number(text)] })}
          />
          {chart.kind !== "scatter" && (
            <Choice
              label="Split by"
              value={String(chart.by ?? "")}
              options={[["", "nothing"], ...named(places, columns)]}
              onChoose={(text) => onChange({ ...chart, by: placeOf(text) })}
            />
          )}
        </>
      )}
    </div>
  );
}

function named(places: readonly number[], columns: readonly ResultColumn[]) {
  return places.map((at) => [String(at), columns[at]?.name ?? ""] as const);
}

function Choice({ label, value, options, onChoose }: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly onChoose: (value: string) => void;
}): JSX.Element {
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        {options.map(([value, label]) => <option key={value} value={value}>{label}</option>)}
      </select>
    </label>
  );
}

function Figures({ chart, columns, row }: {
  readonly chart: Chart;
  readonly columns: readonly ResultColumn[];
  readonly row: readonly Value[];
}): JSX.Element {
  return (
    <dl class="figures">
      {chart.y.map((at) => {
        const value = row[at] ?? null;
        return (
          <div key={at}>
            <dt>{columns[at]?.name}</dt>
            <dd>{typeof value === "number" ? value.toLocaleString() : valueText(value)}</dd>
          </div>
        );
      })}
    </dl>
  );
}

/** Bars lie, so that their names can be read whatever the width. */
function Bars({ data: { labels = [], series } }: { readonly data: ChartData }): JSX.Element {
  const most = Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)), 0);
  return (
    <div class="bars-pane" tabIndex={0} role="region" aria-label="Bars">
      {series.length > 1 && (
        <ul class="bar-names">
          {series.map(({ name }, at) => <li key={name} class={`series-${at}`}>{name}</li>)}
        </ul>
      )}
      <table class="bars">
        <tbody>
          {labels.map((label, place) => (
            <tr key={label}>
              <th scope="row" title={label}>{label}</th>
              <td>
                {series.map(({ name, values }, at) => {
                  const value = values[place] ?? null;
                  if (value === null) return null;
                  const width = most > 0 ? Math.max(0, 100 * value / most) : 0;
                  return (
                    <div key={name} class="bar-line" title={`${name}: ${value.toLocaleString()}`}>
                      <span class={`bar-fill series-${at}`} style={{ width: `${width}%` }} />
                      <span class="bar-value">{value.toLocaleString()}</span>
                    </div>
                  );
                })}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Lines and points over quantities, drawn by uPlot, which is loaded when first used. */
function Plot({ data, kind }: {
  readonly data: ChartData;
  readonly kind: "line" | "scatter" | "number";
}): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const failure = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const { current } = host;
    if (current === null) return;
    let close: (() => void) | undefined;
    const leaving = new AbortController();
    loadPart(() => import("./plot.ts"), leaving.signal).then(({ openPlot }) => {
      if (leaving.signal.aborted) return;
      close = openPlot(current, data, kind === "scatter" ? "points" : "lines");
    }).catch((error: Error) => {
      if (!leaving.signal.aborted) failure.value = error.message;
    });
    return () => {
      leaving.abort();
      close?.();
    };
  }, [data, kind]);
  const names = data.series.map(({ name }) => name).join(", ");
  if (failure.value !== undefined) return <p class="failed" role="alert">{failure.value}</p>;
  return (
    <div
      class="plot"
      ref={host}
      role="img"
      aria-label={`${kind} chart of ${names} over ${data.xs.length} places`}
    />
  );
}
