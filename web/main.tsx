/** The page: its frame, and the keys that work everywhere. */

import { render } from "preact";
import { LogsPage } from "./logs/logs_page.tsx";
import { readAddress, search } from "./logs/log_state.ts";
import "./style.css";

const app = document.getElementById("app");
if (app === null) throw new Error("index.html has an element app");

render(
  <>
    <header class="frame">
      <a class="name" href="./">svc</a>
      <span aria-current="page">Logs</span>
      <span class="keys">
        <kbd>/</kbd> search <kbd>j</kbd> <kbd>k</kbd> rows <kbd>Enter</kbd> open
      </span>
    </header>
    <LogsPage />
  </>,
  app,
);

addEventListener("popstate", () => {
  readAddress();
  search({ isNew: false });
});

addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement;
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("search")?.focus();
  }
  if (event.key === "j" || event.key === "k") {
    const lines = [...document.querySelectorAll<HTMLElement>(".row > .line")];
    const at = lines.findIndex((line) => line === document.activeElement);
    lines[at + (event.key === "j" ? 1 : -1)]?.focus();
  }
});

readAddress();
search({ isNew: false });
