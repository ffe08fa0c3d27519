/** Rows by their shape: how many, how they spread over the time, and one of them. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { shareText, wholeText } from "../view/number_text.ts";
import { EmptyView } from "./empty_view.tsx";
import { view } from "./log_address.ts";
import { toggleTerm } from "./log_state.ts";
import { PATTERN_ROWS } from "./log_statements.ts";
import { MarkedText } from "./marked_text.tsx";
import {
  newPatterns,
  type Pattern,
  patterns,
  patternsFailure,
  SPARK_BINS,
} from "./pattern_state.ts";
import { patternTerm } from "./pattern_term.ts";
import { Waiting } from "./rows_view.tsx";

const EXAMPLE_CHARS_MAX = 500;

export function PatternsView(): JSX.Element {
  const wanted = useSignal("");
  const isNewOnly = useSignal(false);
  const all = patterns.value;
  if (patternsFailure.value !== undefined) {
    return <p class="failure empty" role="alert">{patternsFailure.value.message}</p>;
  }
  if (all === undefined) return <Waiting />;
  if (all.length === 0) return <EmptyView />;
  const total = all.reduce((sum, { count }) => sum + count, 0);
  const fresh = newPatterns.value;
  const text = wanted.value.trim().toLowerCase();
  const shown = all.filter((pattern) =>
    `${pattern.text}\n${pattern.example}`.toLowerCase().includes(text) &&
    (!isNewOnly.value || fresh?.has(pattern.text) === true)
  );
  return (
    <div class="patterns-pane" tabIndex={0} role="region" aria-label="Patterns">
      <p class="pattern-tools">
        <input
          type="search"
          id="pattern-filter"
          aria-label="Find a pattern"
          placeholder="find a pattern"
          value={wanted.value}
          onInput={(event) => wanted.value = event.currentTarget.value}
        />
        {fresh !== undefined && (
          <label>
            <input
              type="checkbox"
              checked={isNewOnly.value}
              onChange={(event) => isNewOnly.value = event.currentTarget.checked}
            />{" "}
            new since yesterday ({fresh.size})
          </label>
        )}
        <span class="quiet">
          {shown.length === all.length ? all.length : `${shown.length} of ${all.length}`} shapes of
          {" "}
          {total >= PATTERN_ROWS ? "the newest " : ""}
          {wholeText(total)} rows
        </span>
      </p>
      <table class="patterns">
        <thead>
          <tr>
            <th scope="col">Rows</th>
            <th scope="col">Share</th>
            <th scope="col">Over time</th>
            <th scope="col">Pattern and an example</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((pattern) => (
            <PatternRow
              key={pattern.text}
              pattern={pattern}
              total={total}
              isNew={fresh?.has(pattern.text) === true}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function PatternRow({ pattern, total, isNew }: {
  readonly pattern: Pattern;
  readonly total: number;
  readonly isNew: boolean;
}): JSX.Element {
  const { text, count, example } = pattern;
  const term = patternTerm(text);
  return (
    <tr>
      <td>{wholeText(count)}</td>
      <td>{shareText(count / total)}</td>
      <td>
        <Spark values={pattern.spark} />
      </td>
      <td class="pattern-cell">
        <div class="pattern-line">
          {isNew && (
            <span class="new-mark" title="No row of the week before yesterday has this shape">
              new
            </span>
          )}
          {term === undefined
            ? (
              <span>
                <Shape text={text} />
              </span>
            )
            : (
              <button
                type="button"
                class="pattern-text"
                title="Show these rows"
                onClick={() => (view.value = "rows", toggleTerm(term))}
              >
                <Shape text={text} />
              </button>
            )}
          {term !== undefined && (
            <button
              type="button"
              class="pattern-out"
              title="Leave these rows out"
              onClick={() => toggleTerm(`-(${term})`)}
            >
              − filter
            </button>
          )}
        </div>
        {example !== text && (
          <div class="pattern-example" title={example.slice(0, EXAMPLE_CHARS_MAX)}>
            <MarkedText text={example.slice(0, EXAMPLE_CHARS_MAX).replaceAll("\n", "↵")} />
          </div>
        )}
      </td>
    </tr>
  );
}

const SHAPE_CHARS_MAX = 2_000;

/** The text with its placeholders quiet. */
function Shape({ text }: { readonly text: string }): JSX.Element {
  return (
    <>
      {text.slice(0, SHAPE_CHARS_MAX).split("<*>").map((part, at) => (
        <span key={at}>
          {at > 0 && <span class="placeholder">{"<*>"}</span>}
          <MarkedText text={part} />
        </span>
      ))}
    </>
  );
}

const HEIGHT = 16;
const BAR = 4;

function Spark({ values }: { readonly values: readonly number[] }): JSX.Element {
  const most = Math.max(1, ...values);
  const path = values.map((value, at) => {
    if (value === 0) return "";
    const height = Math.max(1, value / most * HEIGHT);
    return `M${at * BAR} ${HEIGHT}v${-height}h${BAR - 1}v${height}z`;
  }).join("");
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${SPARK_BINS * BAR} ${HEIGHT}`}
      width={SPARK_BINS * BAR}
      height={HEIGHT}
      aria-hidden="true"
    >
      <path d={path} />
    </svg>
  );
}
