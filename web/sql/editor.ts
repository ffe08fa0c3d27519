/**
 * The editor: CodeMirror, in a shadow root, where its styles are adopted sheets and no inline
 * styles, which the page's policy refuses. It is loaded with the page SQL.
 */

import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  type Completion,
  completionKeymap,
  type CompletionResult,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { keywordCompletionSource, PostgreSQL, sql, SQLDialect } from "@codemirror/lang-sql";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, Prec } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { completeSql, type SqlFunction, type SqlNames, type SqlOption } from "./complete_sql.ts";
import { EDITOR_THEME } from "./editor_theme.ts";
import type { ErrorSpan } from "./error_place.ts";

/** Marks `span` of the text as the place of an error. */
export interface EditorMark {
  readonly span: ErrorSpan;
  readonly message: string;
}

export interface SqlEditor {
  /** Takes another text; nothing happens where it is the same. */
  setText(text: string): void;
  /** Writes at the cursor, in place of what is selected. */
  insert(text: string): void;
  /** Shows an error at its place; undefined: none. */
  mark(mark: EditorMark | undefined): void;
  goTo(at: number): void;
  focus(): void;
  /** What is selected, and where it begins; undefined where nothing is. */
  selected(): { readonly text: string; readonly from: number } | undefined;
  close(): void;
}

export interface EditorOptions {
  readonly text: string;
  readonly onChange: (text: string) => void;
  readonly onRun: () => void;
  readonly names: () => SqlNames;
}

/** The words of a SELECT; what the service refuses is left out. */
const KEYWORDS = "all and anti any array as asc asof at between both by case cast collate cross " +
  "cube current desc describe distinct else end escape except exclude exists extract filter first " +
  "following for from full glob group grouping having ilike in inner intersect interval into is " +
  "join lambda last lateral left like limit materialized name natural not nulls of offset on or " +
  "order outer over partition percent pivot positional preceding qualify range recursive replace " +
  "right rollup row rows sample select semi sets similar some struct summarize table tablesample " +
  "then ties to try_cast unbounded union unpivot using values when where window with within " +
  "without zone";
const TYPES = "bigint blob boolean date decimal double float hugeint integer json map smallint " +
  "text time timestamp timestamp_ms timestamp_ns timestamp_s timestamptz tinyint ubigint " +
  "uhugeint uinteger usmallint utinyint uuid varchar";

const DUCKDB = SQLDialect.define({
  ...PostgreSQL.spec,
  keywords: `${KEYWORDS} true false null`,
  types: TYPES,
});

const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--sql-text)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--sql-number)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--sql-type)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--quiet)" },
]);

/** Opens the editor in `host`, which has a shadow root of its own for it. */
export function openEditor(host: HTMLElement, options: EditorOptions): SqlEditor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({ doc: options.text, extensions: extensionsOf(options) }),
  });
  return {
    setText(text) {
      if (text === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    insert(text) {
      view.dispatch(view.state.replaceSelection(text));
      view.focus();
    },
    mark(mark) {
      view.dispatch(
        setDiagnostics(view.state, mark === undefined ? [] : [diagnosticOf(mark, view)]),
      );
    },
    goTo(at) {
      view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
      view.focus();
    },
    focus: () => view.focus(),
    selected() {
      const { from, to, empty } = view.state.selection.main;
      return empty ? undefined : { text: view.state.sliceDoc(from, to), from };
    },
    close: () => view.destroy(),
  };
}

function extensionsOf({ onChange, onRun, names }: EditorOptions) {
  const run = (view: EditorView) => {
    closeCompletion(view);
    onRun();
    return true;
  };
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    EditorView.lineWrapping,
    sql({ dialect: DUCKDB }),
    syntaxHighlighting(COLOURS),
    EDITOR_THEME,
    placeholder("SELECT … FROM events — Ctrl-Enter runs it"),
    EditorView.contentAttributes.of({ "aria-label": "SQL statement" }),
    autocompletion({
      override: [
        ({ state, pos, explicit }) => ownSource(state.doc.toString(), pos, explicit, names()),
        keywordCompletionSource(DUCKDB, true),
      ],
      icons: false,
      filterStrict: true,
      maxRenderedOptions: 60,
    }),
    Prec.highest(keymap.of([
      { key: "Ctrl-Enter", mac: "Cmd-Enter", run },
      // Tab leaves the editor, as it leaves any other field, unless it takes what is offered.
      { key: "Tab", run: acceptCompletion },
    ])),
    keymap.of([
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...historyKeymap,
      ...completionKeymap,
      ...lintKeymap,
    ]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onChange(update.state.doc.toString());
    }),
  ];
}

function ownSource(
  text: string,
  at: number,
  isExplicit: boolean,
  names: SqlNames,
): CompletionResult | null {
  const found = completeSql(text, at, names);
  if (found === undefined || found.options.length === 0) return null;
  // A list that nobody asked for waits for a letter, a dot or a table's place.
  const isWanted = isExplicit || found.from < at || /(?:[.'(]|\b(?:from|join)\s)$/i.test(
    text.slice(0, at),
  );
  if (!isWanted) return null;
  return { from: found.from, options: found.options.map(completionOf), validFor: /^[\w.]*$/ };
}

const BOOST: Readonly<Record<SqlOption["kind"], number>> = {
  table: 3,
  column: 3,
  attribute: 2,
  function: 1,
};

function completionOf({ label, kind, apply, detail, function: one }: SqlOption): Completion {
  return {
    label,
    apply,
    detail,
    type: kind,
    boost: BOOST[kind],
    ...(one === undefined ? {} : { info: () => documentation(one) }),
  };
}

/** What a function does, beside the list. */
function documentation({ name, calls, text, example }: SqlFunction): Node {
  const panel = document.createElement("div");
  const add = (tag: string, content: string) => {
    const element = document.createElement(tag);
    element.textContent = content;
    panel.append(element);
  };
  for (const call of calls.slice(0, 3)) add("code", `${name}(${call})`);
  add("p", text);
  if (example !== undefined) add("code", example);
  return panel;
}

function diagnosticOf({ span, message }: EditorMark, view: EditorView) {
  const most = view.state.doc.length;
  const from = Math.min(span.from, most);
  const to = Math.min(Math.max(span.to, from), most);
  return { from, to, severity: "error" as const, message };
}
