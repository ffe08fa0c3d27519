/** `/api/v1/delete-tasks`: README.md of this folder says what they answer. */

import { jsonResponse } from "../../shared/http/error_response.ts";
import type { Addressed } from "../indexes/index_routes.ts";
import { readJson } from "../json_body.ts";
import type { QueryCaller } from "../query_caller.ts";
import { parseDeleteRequest, taskBody } from "./delete_task_body.ts";
import type { DeleteTasks } from "./delete_tasks.ts";

/** What these routes need of the server. */
export interface DeleteTaskService {
  readonly deleteTasks: DeleteTasks;
}

/** `POST /api/v1/delete-tasks`: 201 with the record. Errors: those of `DeleteTasks.submit`. */
export async function submitDeleteTask(
  request: Request,
  { deleteTasks }: DeleteTaskService,
  caller: QueryCaller,
): Promise<Response> {
  const wanted = parseDeleteRequest(await readJson(request));
  const task = await deleteTasks.submit(caller, wanted, request.signal);
  const location = `/api/v1/delete-tasks/${task.taskId}`;
  return jsonResponse(taskBody(task), { status: 201, headers: { location } });
}

/** `GET /api/v1/delete-tasks`: 200 with the tenant's tasks, newest first. */
export async function listDeleteTasks(
  _: Request,
  { deleteTasks }: DeleteTaskService,
  caller: QueryCaller,
): Promise<Response> {
  return jsonResponse((await deleteTasks.list(caller.namespace)).map(taskBody));
}

/** `GET /api/v1/delete-tasks/{id}`: 200 with the record. Errors: `not_found`. */
export async function getDeleteTask(
  _: Request,
  { deleteTasks }: DeleteTaskService,
  { caller, id }: Addressed,
): Promise<Response> {
  return jsonResponse(taskBody(await deleteTasks.get(caller.namespace, id)));
}
