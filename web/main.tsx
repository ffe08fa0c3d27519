/** The page's entry. */

import { render } from "preact";
import { Frame } from "./frame/frame.tsx";
import "./style.css";
import "./logs/logs.css";

const app = document.getElementById("app");
if (app === null) throw new Error("index.html has an element app");
render(<Frame />, app);
