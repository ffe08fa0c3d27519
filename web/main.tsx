/** The page's entry. */

import { render } from "preact";
import { signInWish } from "./api/session.ts";
import { takeSignInAnswer } from "./api/sign_in.ts";
import { Frame } from "./frame/frame.tsx";
import { PAGES } from "./frame/pages.ts";
import { leadToPage } from "./frame/router.ts";
import "./style.css";
import "./logs/logs.css";
import "./sql/sql.css";
import "./status/status.css";
import "./traces/traces.css";
import "./jobs/jobs.css";
import "./tables/tables.css";

const app = document.getElementById("app");
if (app === null) throw new Error("index.html has an element app");

const answer = await takeSignInAnswer();
if (answer.kind === "here") dispatchEvent(new PopStateEvent("popstate"));
if (answer.failure !== undefined) signInWish.value = { reason: answer.failure };
if (answer.kind !== "window") leadToPage(PAGES.map(({ path }) => path));
render(
  answer.kind === "window" ? <p class="empty">You can close this window.</p> : <Frame />,
  app,
);
