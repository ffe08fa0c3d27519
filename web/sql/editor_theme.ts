/** How the editor looks: the colours are the page's, which reach into its shadow root. */

import { EditorView } from "@codemirror/view";

export const EDITOR_THEME = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--raised)", color: "var(--text)" },
  // sql.css outlines the whole editor.
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { font: "13px/20px ui-monospace, monospace", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": {
    backgroundColor: "var(--raised)",
    color: "var(--quiet)",
    border: "none",
    minWidth: "36px",
  },
  ".cm-activeLine": { backgroundColor: "transparent" },
  ".cm-placeholder": { color: "var(--quiet)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "var(--sql-selection)" },
  ".cm-matchingBracket": { backgroundColor: "var(--sql-selection)", color: "inherit" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    // Each by itself: Safari takes no style in the shorthand.
    textDecorationLine: "underline",
    textDecorationStyle: "wavy",
    textDecorationColor: "var(--error)",
    textDecorationSkipInk: "none",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "4px",
    font: "13px/20px system-ui, sans-serif",
    maxWidth: "min(92vw, 640px)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    font: "12.5px/20px ui-monospace, monospace",
    maxHeight: "220px",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--sql-selection)",
    color: "var(--text)",
  },
  ".cm-completionDetail": { color: "var(--quiet)", fontStyle: "normal", marginLeft: "16px" },
  "li[aria-selected] .cm-completionDetail": { color: "var(--text)" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionInfo": { padding: "8px 12px", maxWidth: "360px" },
  ".cm-completionInfo code": {
    display: "block",
    font: "12.5px/18px ui-monospace, monospace",
    color: "var(--accent)",
    overflowWrap: "anywhere",
  },
  ".cm-completionInfo p": { margin: "4px 0" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--error)", whiteSpace: "pre-wrap" },
  ".cm-diagnostic": { padding: "4px 8px" },
});
