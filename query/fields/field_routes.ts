/** `GET /api/v1/fields` and `GET /api/v1/fields/{name}/values`: docs/api/query.md#fields. */

import { jsonResponse } from "../../shared/http/error_response.ts";
import type { Addressed } from "../indexes/index_routes.ts";
import type { QueryCaller } from "../query_caller.ts";
import { searchedRows, valuesRequest } from "./field_request.ts";
import { fieldValues } from "./field_values.ts";
import { listFields } from "./list_fields.ts";
import { type FieldService, PartCall } from "./part_call.ts";

/** Errors: those of `listFields`. */
export async function answerFields(
  request: Request,
  service: FieldService,
  caller: QueryCaller,
): Promise<Response> {
  const asked = searchedRows(new URL(request.url).searchParams);
  const call = new PartCall(service, request, { caller, endpoint: "fields" });
  return jsonResponse(await listFields(call, asked));
}

/** Errors: those of `fieldValues`. */
export async function answerFieldValues(
  request: Request,
  service: FieldService,
  { caller, id: name }: Addressed,
): Promise<Response> {
  const asked = valuesRequest(name, new URL(request.url).searchParams);
  const call = new PartCall(service, request, { caller, endpoint: "field_values" });
  return jsonResponse(await fieldValues(call, asked));
}
