/** The switch of live rows, what it tells, and the rows that wait. */

import type { JSX, RefObject } from "preact";
import { wholeText } from "../view/number_text.ts";
import { isLive } from "./log_address.ts";
import {
  isConnected,
  isPaused,
  isPendingCut,
  liveFailure,
  lost,
  noteTop,
  pending,
  showPending,
  skipped,
  toggleLive,
  togglePause,
} from "./live_state.ts";

/** So near to the top nobody has scrolled away. */
const TOP_PX = 4;

/** Tells the live rows whether the list is at its top. */
export function noteScroll(pane: HTMLElement): void {
  noteTop(pane.scrollTop <= TOP_PX);
}

export function LiveSwitch(): JSX.Element {
  return (
    <span class="live-switch">
      <button
        type="button"
        id="live"
        aria-pressed={isLive.value}
        title="Show new rows as they come (l)"
        onClick={toggleLive}
      >
        <span aria-hidden="true">{isLive.value ? "●" : "○"}</span> Live
      </button>
      {isLive.value && (
        <button
          type="button"
          aria-pressed={isPaused.value}
          title="Let new rows wait, or show them again (p)"
          onClick={togglePause}
        >
          {isPaused.value ? "go on" : "pause"}
        </button>
      )}
      {isLive.value && <LiveNote />}
    </span>
  );
}

/** Why rows are lost: docs/api/query.md#tail. */
const LOST: Readonly<Record<string, string>> = {
  slow_reader: "the page was too slow for them",
  position_expired: "the page was away for too long",
};

function LiveNote(): JSX.Element | null {
  if (liveFailure.value !== undefined) {
    return <span class="failure" role="alert">{liveFailure.value.message}</span>;
  }
  const parts: string[] = [];
  if (!isConnected.value) parts.push("connecting…");
  if (skipped.value > 0) parts.push(`${wholeText(skipped.value)} skipped, too many to show`);
  if (lost.value !== undefined) {
    const { rows, reason } = lost.value;
    parts.push(`${rows === 0 ? "some" : wholeText(rows)} rows lost, ${LOST[reason] ?? reason}`);
  }
  return parts.length === 0 ? null : <span class="quiet live-note">{parts.join(" · ")}</span>;
}

/** How many rows wait; a click shows them. */
export function PendingPill({ scroller }: {
  readonly scroller: RefObject<HTMLElement | null>;
}): JSX.Element | null {
  const count = pending.value.length;
  if (count === 0) return null;
  return (
    <button
      type="button"
      class="pending-pill"
      aria-live="polite"
      onClick={() => {
        isPaused.value = false;
        showPending();
        scroller.current?.scrollTo({ top: 0 });
      }}
    >
      {wholeText(count)}
      {isPendingCut.value ? "+" : ""} new ↑
    </button>
  );
}
