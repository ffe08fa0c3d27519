/** The time range: spans, dates, and whatever is typed as `last 2h` or `yesterday`; and the zone. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { PopoverMenu } from "../view/popover_menu.tsx";
import { durationText } from "../view/number_text.ts";
import { range, setZone, zone } from "./log_address.ts";
import { searchRange } from "./log_state.ts";
import { parseTimePhrase } from "./time_phrase.ts";
import { instantsOf, rangeText, SPANS, type TimeRange } from "./time_range.ts";
import { instantText, zoneName } from "./time_zone.ts";

/** The button that the key `t` presses. */
export const TIME_BUTTON_ID = "time";
const EXAMPLES = "last 2h · yesterday · 2026-11-20 .. 2026-11-21 · 9:30 .. 10:00";

export function TimeMenu(): JSX.Element {
  return (
    <PopoverMenu
      buttonId={TIME_BUTTON_ID}
      class="time-button"
      name="Time range"
      title={`Time range, in ${zoneName(zone.value)}`}
      label={
        <>
          {shortRange(range.value)} <span aria-hidden="true">▾</span>
        </>
      }
    >
      {(close) => <TimePanel close={close} />}
    </PopoverMenu>
  );
}

function TimePanel({ close }: { readonly close: () => void }): JSX.Element {
  const current = range.value;
  const choose = (next: TimeRange) => {
    close();
    searchRange(next);
  };
  return (
    <div class="time-panel">
      <PhraseForm choose={choose} />
      <div class="spans">
        {SPANS.map(({ label, ms }) => {
          const span: TimeRange = { kind: "last", ms };
          const isShown = rangeText(span) === rangeText(current);
          return (
            <button
              key={ms}
              type="button"
              aria-pressed={isShown}
              onClick={() => choose(span)}
            >
              Last {label}
            </button>
          );
        })}
      </div>
      <AbsoluteForm choose={choose} />
      <fieldset>
        <legend>Times are shown in</legend>
        {(["local", "utc"] as const).map((one) => (
          <label key={one}>
            <input
              type="radio"
              name="zone"
              checked={zone.value === one}
              onChange={() => setZone(one)}
            />{" "}
            {one === "local" ? `${zoneName(one)} (this browser)` : "UTC"}
          </label>
        ))}
      </fieldset>
    </div>
  );
}

interface FormProps {
  readonly choose: (next: TimeRange) => void;
}

function PhraseForm({ choose }: FormProps): JSX.Element {
  const text = useSignal("");
  const isWrong = useSignal(false);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const next = parseTimePhrase(text.value, { nowMs: Date.now(), zone: zone.value });
        isWrong.value = next === undefined;
        if (next !== undefined) choose(next);
      }}
    >
      <label for="time-phrase">Type a time</label>
      <input
        id="time-phrase"
        type="text"
        data-focus
        autocomplete="off"
        spellcheck={false}
        placeholder="last 2h"
        aria-describedby="time-examples"
        aria-invalid={isWrong.value}
        value={text.value}
        onInput={(event) => text.value = event.currentTarget.value}
      />
      <p id="time-examples" class={isWrong.value ? "failure" : "quiet"} aria-live="polite">
        {isWrong.value ? `That is no time. Write it as: ${EXAMPLES}` : EXAMPLES}
      </p>
    </form>
  );
}

/** From and to, as texts that may be edited: what is shown now stands there. */
function AbsoluteForm({ choose }: FormProps): JSX.Element {
  const instants = instantsOf(range.value, Date.now());
  const from = useSignal(instantText(wholeSecond(instants.from), zone.value));
  const to = useSignal(instantText(wholeSecond(instants.to), zone.value));
  const isWrong = useSignal(false);
  return (
    <form
      class="absolute"
      onSubmit={(event) => {
        event.preventDefault();
        const clock = { nowMs: Date.now(), zone: zone.value };
        const next = parseTimePhrase(`${from.value} .. ${to.value}`, clock);
        isWrong.value = next === undefined;
        if (next !== undefined) choose(next);
      }}
    >
      {([["from", from], ["to", to]] as const).map(([name, text]) => (
        <label key={name}>
          {name}
          <input
            type="text"
            name={name}
            autocomplete="off"
            spellcheck={false}
            aria-invalid={isWrong.value}
            value={text.value}
            onInput={(event) => text.value = event.currentTarget.value}
          />
        </label>
      ))}
      <button type="submit">Show</button>
    </form>
  );
}

function wholeSecond(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

function shortRange(current: TimeRange): string {
  if (current.kind === "last") {
    const known = SPANS.find(({ ms }) => ms === current.ms);
    return `Last ${known?.label ?? durationText(current.ms)}`;
  }
  const from = instantText(current.from, zone.value);
  const to = instantText(current.to, zone.value);
  const sameDay = from.slice(0, 10) === to.slice(0, 10);
  return `${from} .. ${sameDay ? to.slice(11) : to}`;
}
