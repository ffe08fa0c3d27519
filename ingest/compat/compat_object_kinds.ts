/**
 * Templates, lifecycle policies, pipelines and data streams, as Elasticsearch 8 and 9 show them;
 * OpenSearch 2 and 3 show those that they have alike.
 */

import type { JsonObject } from "../../shared/document/json_object.ts";

export const DATA_STREAM = "_data_stream";

/** A kind of objects; its name is what its paths begin with. */
export interface ObjectKind {
  readonly path: string;
  /** For people: "index template". */
  readonly title: string;
  /** Whether one of its name stands in the way of another. */
  readonly isUnique?: boolean;
  readonly needsBody: boolean;
  /** How one is shown. */
  readonly shown: (body: JsonObject, options: { name: string; nowMs: number }) => unknown;
  /** Shown objects → the answer: a list under this member, or an object with a member each. */
  readonly listMember?: string;
  /** The answer where a name is not there; without one it is an empty object. */
  readonly missing?: (name: string) => { type: string; reason: string };
}

export const OBJECT_KINDS: readonly ObjectKind[] = [
  {
    path: "_index_template",
    title: "index template",
    needsBody: true,
    shown: (body, { name }) => ({ name, index_template: body }),
    listMember: "index_templates",
    missing: (name) => notFound(`index template matching [${name}] not found`),
  },
  {
    path: "_component_template",
    title: "component template",
    needsBody: true,
    shown: (body, { name }) => ({ name, component_template: body }),
    listMember: "component_templates",
    missing: (name) => notFound(`component template matching [${name}] not found`),
  },
  {
    path: "_ilm/policy",
    title: "lifecycle policy",
    needsBody: true,
    shown: ({ policy = {} }, { nowMs }) => ({
      version: 1,
      modified_date: new Date(nowMs).toISOString(),
      policy,
      in_use_by: { indices: [], data_streams: [], composable_templates: [] },
    }),
    missing: (name) => notFound(`Lifecycle policy not found: ${name}`),
  },
  {
    path: "_ingest/pipeline",
    title: "ingest pipeline",
    needsBody: true,
    shown: (body) => body,
  },
  {
    path: "_template",
    title: "template",
    needsBody: true,
    shown: (body) => ({
      order: 0,
      index_patterns: [],
      settings: {},
      mappings: {},
      aliases: {},
      ...body,
    }),
  },
  {
    path: DATA_STREAM,
    title: "data stream",
    isUnique: true,
    needsBody: false,
    shown: (_, { name }) => ({
      name,
      timestamp_field: { name: "@timestamp" },
      indices: [],
      generation: 1,
      status: "GREEN",
      template: name,
      hidden: false,
      system: false,
    }),
    listMember: "data_streams",
    missing: (name) => ({ type: "index_not_found_exception", reason: `no such index [${name}]` }),
  },
];

function notFound(reason: string): { type: string; reason: string } {
  return { type: "resource_not_found_exception", reason };
}
