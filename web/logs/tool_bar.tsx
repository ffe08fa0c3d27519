/** The line above the rows: what is shown of the search, and how. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { bytesText } from "../view/bytes_text.ts";
import { PopoverMenu } from "../view/popover_menu.tsx";
import { CopyButton } from "../view/copy_button.tsx";
import { download, DOWNLOAD_FORMATS, downloadFailure, startDownload } from "./download.ts";
import { fieldList } from "./field_state.ts";
import { LiveSwitch } from "./live_view.tsx";
import {
  columns,
  linkTo,
  range,
  toggleColumn,
  toggleWrap,
  type View,
  view,
  wraps,
} from "./log_address.ts";
import { asked, show } from "./log_state.ts";
import { areFieldsShown, density, toggleDensity, toggleFields } from "./view_choices.ts";

export function ToolBar(): JSX.Element {
  const areRows = view.value === "rows";
  return (
    <div class="tool-bar">
      <button
        type="button"
        id="fields-button"
        aria-expanded={areFieldsShown.value}
        title="Show the fields, or fold them away (f)"
        onClick={toggleFields}
      >
        Fields
      </button>
      <nav class="views" aria-label="View">
        <ViewButton name="rows" label="Rows" />
        <ViewButton name="patterns" label="Patterns" />
      </nav>
      {areRows && <LiveSwitch />}
      <span class="tools">
        {areRows && (
          <>
            <ColumnsMenu />
            <button
              type="button"
              aria-pressed={wraps.value}
              title="Wrap long lines"
              onClick={toggleWrap}
            >
              wrap
            </button>
            <button
              type="button"
              aria-pressed={density.value === "comfortable"}
              title="More room between the rows"
              onClick={toggleDensity}
            >
              comfortable
            </button>
          </>
        )}
        <DownloadMenu />
        <LinkMenu />
      </span>
    </div>
  );
}

function ViewButton({ name, label }: { readonly name: View; readonly label: string }): JSX.Element {
  return (
    <button type="button" aria-pressed={view.value === name} onClick={() => show(name)}>
      {label}
    </button>
  );
}

function ColumnsMenu(): JSX.Element {
  return (
    <PopoverMenu
      name="Columns"
      label={
        <>
          columns <span aria-hidden="true">▾</span>
        </>
      }
    >
      {() => <ColumnsPanel />}
    </PopoverMenu>
  );
}

/** Columns that each row shows anyway. */
const ALWAYS = new Set(["timestamp", "timestamp_ns", "attributes", "raw", "level", "source"]);
const NAMES_MAX = 200;

function ColumnsPanel(): JSX.Element {
  const wanted = useSignal("");
  const text = wanted.value.trim();
  const known = (fieldList.value?.fields ?? []).map(({ name }) => name)
    .concat(asked.value?.known.columns.map(({ name }) => name) ?? []);
  const names = [...new Set([...columns.value, ...known.filter((name) => !ALWAYS.has(name))])]
    .filter((name) => name.toLowerCase().includes(text.toLowerCase()));
  return (
    <form
      class="columns-panel"
      onSubmit={(event) => {
        event.preventDefault();
        if (text !== "" && !columns.value.includes(text)) toggleColumn(text);
        wanted.value = "";
      }}
    >
      <input
        type="text"
        data-focus
        aria-label="A field's name"
        placeholder="a field's name"
        value={wanted.value}
        onInput={(event) => wanted.value = event.currentTarget.value}
      />
      <ul>
        {names.slice(0, NAMES_MAX).map((name) => (
          <li key={name}>
            <label>
              <input
                type="checkbox"
                checked={columns.value.includes(name)}
                onChange={() => toggleColumn(name)}
              />{" "}
              {name}
            </label>
          </li>
        ))}
      </ul>
      {names.length === 0 && <p class="quiet">Enter adds the column {text}.</p>}
    </form>
  );
}

const LABELS = { csv: "CSV", ndjson: "NDJSON", parquet: "Parquet" } as const;

function DownloadMenu(): JSX.Element {
  const running = download.value;
  if (running !== undefined) {
    return (
      <button type="button" title="Stop the download" onClick={running.stop}>
        ⤓ {bytesText(running.bytes)} · stop
      </button>
    );
  }
  return (
    <>
      <PopoverMenu
        name="Download"
        title="Download all rows of this search"
        label={
          <>
            download <span aria-hidden="true">▾</span>
          </>
        }
      >
        {(close) => (
          <div class="menu-list">
            {DOWNLOAD_FORMATS.map((format) => (
              <button
                key={format}
                type="button"
                onClick={() => {
                  close();
                  startDownload(format);
                }}
              >
                {LABELS[format]}
              </button>
            ))}
          </div>
        )}
      </PopoverMenu>
      {downloadFailure.value !== undefined && (
        <span class="failure" role="alert">{downloadFailure.value.message}</span>
      )}
    </>
  );
}

function LinkMenu(): JSX.Element {
  return (
    <PopoverMenu
      name="Copy link"
      label={
        <>
          link <span aria-hidden="true">▾</span>
        </>
      }
    >
      {() => (
        <div class="menu-list">
          <CopyButton
            text={() => linkTo(asked.value?.query.instants)}
            title="Whoever opens it sees the time that is shown now"
          >
            copy link to this time
          </CopyButton>
          {range.value.kind === "last" && (
            <CopyButton
              text={() => linkTo(undefined)}
              title="Whoever opens it sees the newest rows then"
            >
              copy link to the newest rows
            </CopyButton>
          )}
        </div>
      )}
    </PopoverMenu>
  );
}
