/**
 * `/api/v1/indexes` and `/api/v1/index-templates`: README.md of this folder says which statuses.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { ManagedIndex } from "../../shared/catalog/index_catalog.ts";
import { parseIndexConfig } from "../../shared/schema/index_config.ts";
import { type IndexTemplate, parseIndexTemplate } from "../../shared/schema/index_template.ts";
import { jsonResponse } from "../../shared/http/error_response.ts";
import { readJson } from "../json_body.ts";
import type { QueryCaller } from "../query_caller.ts";
import type { ManagedIndexes, TagCondition } from "./managed_indexes.ts";
import { templateEtag } from "./template_etag.ts";

/** What these routes need of the server. */
export interface IndexService {
  readonly indexes: ManagedIndexes;
}

/** `GET /api/v1/indexes`: 200 with all configurations of the tenant. */
export async function listIndexes(
  _: Request,
  { indexes }: IndexService,
  caller: QueryCaller,
): Promise<Response> {
  return jsonResponse(await indexes.list(caller.namespace));
}

/** `POST /api/v1/indexes`: 201 with `Location` and `ETag`. Errors: those of `create`. */
export async function createIndex(
  request: Request,
  { indexes }: IndexService,
  caller: QueryCaller,
): Promise<Response> {
  const config = parseIndexConfig(await readJson(request));
  const index = await indexes.create(caller.namespace, config);
  const location = `/api/v1/indexes/${config.index_id}`;
  return indexResponse(index, { status: 201, headers: { location } });
}

/** `GET /api/v1/indexes/{id}`: 200 with a strong `ETag`. Errors: `not_found`. */
export async function getIndex(
  _: Request,
  { indexes }: IndexService,
  { caller, id }: Addressed,
): Promise<Response> {
  return indexResponse(await indexes.get(caller.namespace, id));
}

/** `PUT /api/v1/indexes/{id}`: 200 with the new `ETag`. Errors: those of `replace`. */
export async function putIndex(
  request: Request,
  { indexes }: IndexService,
  { caller, id }: Addressed,
): Promise<Response> {
  const config = parseIndexConfig(named(await readJson(request), "index_id", id));
  const condition = tagCondition(request.headers.get("if-match"));
  return indexResponse(await indexes.replace(caller.namespace, config, condition));
}

/** `DELETE /api/v1/indexes/{id}`: 204. Errors: those of `drop`. */
export async function deleteIndex(
  _: Request,
  { indexes }: IndexService,
  { caller, id }: Addressed,
): Promise<Response> {
  await indexes.drop(caller.namespace, id);
  return new Response(null, { status: 204 });
}

/** `GET /api/v1/index-templates`: 200 with all templates of the tenant. */
export async function listTemplates(
  _: Request,
  { indexes }: IndexService,
  caller: QueryCaller,
): Promise<Response> {
  return jsonResponse(await indexes.templates(caller.namespace));
}

/** `GET /api/v1/index-templates/{id}`: 200 with a strong `ETag`. Errors: `not_found`. */
export async function getTemplate(
  _: Request,
  { indexes }: IndexService,
  { caller, id }: Addressed,
): Promise<Response> {
  return templateResponse(await indexes.template(caller.namespace, id));
}

/** `PUT /api/v1/index-templates/{id}`: 200 with the new `ETag`. Errors: those of `putTemplate`. */
export async function putTemplate(
  request: Request,
  { indexes }: IndexService,
  { caller, id }: Addressed,
): Promise<Response> {
  const template = parseIndexTemplate(named(await readJson(request), "template_id", id));
  const header = request.headers.get("if-match");
  const condition = header === null ? undefined : tagCondition(header);
  await indexes.putTemplate(caller.namespace, template, condition);
  return templateResponse(template);
}

/** `DELETE /api/v1/index-templates/{id}`: 204. Errors: `not_found`. */
export async function deleteTemplate(
  _: Request,
  { indexes }: IndexService,
  { caller, id }: Addressed,
): Promise<Response> {
  await indexes.deleteTemplate(caller.namespace, id);
  return new Response(null, { status: 204 });
}

/** A request for one thing, which the last part of its path names. */
export interface Addressed {
  readonly caller: QueryCaller;
  readonly id: string;
}

function indexResponse({ config, etag }: ManagedIndex, init: ResponseInit = {}): Response {
  const response = jsonResponse(config, init);
  response.headers.set("etag", `"${etag}"`);
  return response;
}

function templateResponse(template: IndexTemplate): Response {
  const response = jsonResponse(template);
  response.headers.set("etag", `"${templateEtag(template)}"`);
  return response;
}

/**
 * The body with the id of its path. An id in the body must be equal to it. Errors:
 * `invalid_argument`.
 */
function named(body: unknown, member: string, id: string): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const own: unknown = Reflect.get(body, member) ?? id;
  if (own === id) return { ...body, [member]: id };
  throw new OperatingError(
    "invalid_argument",
    `Cannot use ${member} ${JSON.stringify(own)}: the path says ${JSON.stringify(id)}`,
    { reason: "invalid_body" },
  );
}

/**
 * `If-Match` by RFC 9110, 13.1.1: any of its strong tags, or `*`. Without the header everything
 * matches.
 */
function tagCondition(header: string | null): TagCondition {
  if (header === null || header.trim() === "*") return () => true;
  const tags = new Set(header.split(",").map((tag) => tag.trim()));
  return (etag) => tags.has(`"${etag}"`);
}
