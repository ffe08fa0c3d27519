/** The page Logs: search, histogram, then rows or their patterns, and what the answer cost. */

import type { JSX } from "preact";
import { useKeys } from "../frame/keys.tsx";
import { usePlace } from "../frame/router.ts";
import { FieldList } from "./field_list.tsx";
import { HistogramView } from "./histogram_view.tsx";
import { toggleLive, togglePause } from "./live_state.ts";
import { view } from "./log_address.ts";
import { isRunning, readAddress } from "./log_state.ts";
import { PatternsView } from "./patterns_view.tsx";
import { PlanDialog, StatusLine } from "./plan_dialog.tsx";
import { moveRow } from "./row_focus.ts";
import { RowsView } from "./rows_view.tsx";
import { SearchBar } from "./search_bar.tsx";
import { TIME_BUTTON_ID } from "./time_menu.tsx";
import { ToolBar } from "./tool_bar.tsx";
import { ValueDialog } from "./value_view.tsx";
import { areFieldsShown, toggleFields } from "./view_choices.ts";

export function LogsPage(): JSX.Element {
  usePlace("", readAddress);
  useKeys([
    { key: "/", does: "goes to the search", run: () => focus("search") },
    { key: "j", does: "goes to the next row", run: () => moveRow(1) },
    { key: "k", does: "goes to the row before", run: () => moveRow(-1) },
    { key: "Enter", does: "opens the row, or closes it", run: pressFocused },
    { key: "f", does: "shows the fields to filter by", run: goToFields },
    { key: "t", does: "opens the time range", run: () => press(TIME_BUTTON_ID) },
    { key: "l", does: "turns live rows on or off", run: toggleLive },
    { key: "p", does: "lets new rows wait, or shows them again", run: togglePause },
  ]);
  return (
    <div class="logs">
      <SearchBar />
      <section aria-label="Rows over time">
        <HistogramView />
      </section>
      <div class="logs-body">
        <FieldList />
        <main aria-busy={isRunning.value}>
          <ToolBar />
          {view.value === "rows" ? <RowsView /> : <PatternsView />}
        </main>
      </div>
      <StatusLine />
      <PlanDialog />
      <ValueDialog />
    </div>
  );
}

function focus(id: string): void {
  document.getElementById(id)?.focus();
}

function press(id: string): void {
  document.getElementById(id)?.click();
}

/** Enter does what it does anywhere, wherever the focus is. */
function pressFocused(): void {
  if (document.activeElement instanceof HTMLElement) document.activeElement.click();
}

function goToFields(): void {
  if (!areFieldsShown.value) toggleFields();
  requestAnimationFrame(() => focus("field-filter"));
}
