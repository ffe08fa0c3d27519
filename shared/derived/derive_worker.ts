/** A thread behind `openDeriver`: a part of what is derived of one data file for each request. */

import { serveTasks } from "../os/serve_tasks.ts";
import { deriveTask } from "./derive.ts";

serveTasks(deriveTask);
