/**
 * Indexes and aliases as shippers ask for them. An index comes to be with its first row, and rows
 * go to the index that they name, alias or not. So making an index changes nothing here. It is
 * remembered so that a client finds what it has made.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import { drainBody } from "../../shared/http/body.ts";
import type { LaneId } from "../../shared/tenant/tenant.ts";
import { matches } from "../bulk/filter_path.ts";
import { readObject } from "./compat_body.ts";
import { DATA_STREAM } from "./compat_object_kinds.ts";
import { chosen, type ObjectRouteDeps, requireObjectName } from "./compat_objects.ts";
import { ACKNOWLEDGED, compatFault, compatJson } from "./compat_reply.ts";
import { ASKED, type CompatRoute, PUT_ROUTE } from "./compat_route.ts";
import { resolvedName } from "./date_math_name.ts";
import { indexNameFault } from "../index_name.ts";
import { isJsonObject, type JsonObject } from "../../shared/document/json_object.ts";

export interface IndexRouteDeps extends ObjectRouteDeps {
  /** Whether the lane has rows, or its table is in the catalog. */
  readonly hasIndex: (lane: LaneId) => boolean;
}

const INDEX = "index";
/** Named `index/alias`. */
const ALIAS = "alias";

/** An index's name is no word of the interface: those begin with an underscore. */
const NAME = "([^/_][^/]*)";

/** Routes by which shippers make indexes and aliases, and ask for them. */
export function indexRoutes(deps: IndexRouteDeps): CompatRoute[] {
  return [
    {
      ...PUT_ROUTE,
      path: /^\/_aliases$/,
      methods: ["POST"],
      handle: (request, { tenant }) => changeAliases(request, { tenant, deps }),
    },
    {
      ...PUT_ROUTE,
      path: new RegExp(`^/${NAME}/_alias(?:es)?/([^/]+)$`),
      handle: (request, { tenant, names: [index = "", alias = ""] }) =>
        putAlias(request, { tenant, index, alias, deps }),
    },
    {
      ...ASKED,
      path: new RegExp(`^(?:/${NAME})?/_alias(?:es)?(?:/([^/]+))?$`),
      handle: (request, { tenant, names: [index = "*", alias] }) =>
        askedAliases(request, { tenant, index, alias, deps }),
    },
    {
      ...ASKED,
      path: new RegExp(`^(?:/${NAME})?/_refresh$`),
      methods: ["GET", "HEAD", "POST"],
      handle: async (request) => {
        await drainBody(request);
        return compatJson(request, REFRESHED);
      },
    },
    {
      ...PUT_ROUTE,
      path: new RegExp(`^/${NAME}$`),
      methods: ["PUT"],
      atRoot: "option",
      handle: (request, { tenant, names: [name = ""] }) =>
        putIndex(request, { tenant, name, deps }),
    },
    {
      ...ASKED,
      path: new RegExp(`^/${NAME}$`),
      atRoot: "option",
      handle: (request, { tenant, names: [name = ""] }) =>
        askedIndexes(request, { tenant, name, deps }),
    },
  ];
}

/** Rows are found as soon as they are acknowledged: there is nothing to refresh. */
const REFRESHED = JSON.stringify({ _shards: { total: 1, successful: 1, failed: 0 } });

interface IndexOptions {
  readonly tenant: string;
  /** The name as the client wrote it. */
  readonly name: string;
  readonly deps: IndexRouteDeps;
}

async function putIndex(
  request: Request,
  { tenant, name: written, deps }: IndexOptions,
): Promise<Response> {
  const { objects, bodies, clock, notes } = deps;
  const name = resolvedName(written, clock.nowMs());
  const fault = indexNameFault(name);
  if (fault !== undefined) {
    return compatFault(request, {
      status: 400,
      type: "invalid_index_name_exception",
      reason: `Invalid index name [${name.slice(0, 140)}], ${fault}`,
    });
  }
  const body = await readObject(request, { tenant, bodies, what: `the body of index [${name}]` });
  if (isKnown(tenant, name, deps)) {
    return compatFault(request, {
      status: 400,
      type: "resource_already_exists_exception",
      reason: `index [${name}] already exists`,
    });
  }
  const aliases = isJsonObject(body?.aliases) ? Object.keys(body.aliases) : [];
  if (aliases.length > ACTIONS_MAX) throw malformed(`there are more than ${ACTIONS_MAX}`);
  for (const alias of aliases) requireObjectName(alias, "an alias");
  objects.put(tenant, INDEX, { name, text: "{}" });
  for (const alias of aliases) rememberAlias(tenant, { index: name, alias }, deps);
  if (body !== undefined) notes.tell({ tenant, title: "settings of index", name });
  const reply = { acknowledged: true, shards_acknowledged: true, index: name };
  return compatJson(request, JSON.stringify(reply));
}

/** Whether the index was put, has rows, or is in the catalog. */
export function isKnown(
  tenant: string,
  index: string,
  { objects, hasIndex }: IndexRouteDeps,
): boolean {
  return objects.has(tenant, INDEX, index) || hasIndex({ tenant, index });
}

/**
 * Whether an index came to be with rows alone. Rows that were sent to an alias make one, and this
 * process may not remember the alias: Beats 7 would refuse to send to an index of its name.
 */
function isMadeByRows(
  tenant: string,
  index: string,
  { objects, hasIndex }: IndexRouteDeps,
): boolean {
  return !objects.has(tenant, INDEX, index) && hasIndex({ tenant, index });
}

/** `GET` and `HEAD` of indexes, also by an alias or as a data stream. */
function askedIndexes(request: Request, { tenant, name, deps }: IndexOptions): Response {
  const { objects, clock } = deps;
  const aliases = aliasesOf(tenant, deps);
  const found = new Set<string>();
  for (const part of name.split(",", NAMES_MAX)) {
    const wanted = resolvedName(part, clock.nowMs());
    if (wanted.includes("*")) {
      for (const { name } of chosen(objects.list(tenant, INDEX), wanted).found) found.add(name);
      continue;
    }
    const behind = aliases.filter(({ alias }) => alias === wanted);
    for (const { index } of behind) found.add(index);
    if (behind.length > 0) continue;
    if (!isKnown(tenant, wanted, deps) && !objects.has(tenant, DATA_STREAM, wanted)) {
      return noIndex(request, wanted);
    }
    found.add(wanted);
  }
  const byIndex = Map.groupBy(aliases, ({ index }) => index);
  const shown = [...found].map((index) => [index, {
    aliases: Object.fromEntries((byIndex.get(index) ?? []).map(({ alias }) => [alias, {}])),
    mappings: {},
    settings: {
      index: { number_of_shards: "1", number_of_replicas: "0", provided_name: index },
    },
  }]);
  return compatJson(request, JSON.stringify(Object.fromEntries(shown)));
}

const NAMES_MAX = 64;

/** 404 in the original's words. */
export function noIndex(request: Request, name: string): Response {
  return compatFault(request, {
    status: 404,
    type: "index_not_found_exception",
    reason: `no such index [${name.slice(0, 140)}]`,
  });
}

interface Alias {
  readonly index: string;
  readonly alias: string;
}

function aliasesOf(tenant: string, { objects }: IndexRouteDeps): Alias[] {
  return objects.list(tenant, ALIAS).map(({ name }) => {
    const at = name.indexOf("/");
    return { index: name.slice(0, at), alias: name.slice(at + 1) };
  });
}

function rememberAlias(
  tenant: string,
  { index, alias }: Alias,
  { objects, notes }: IndexRouteDeps,
): void {
  objects.put(tenant, ALIAS, { name: `${index}/${alias}`, text: "{}" });
  notes.tell({ tenant, title: "alias", name: alias });
}

async function putAlias(
  request: Request,
  { tenant, index, alias, deps }: Alias & { tenant: string; deps: IndexRouteDeps },
): Promise<Response> {
  requireObjectName(index, "an index");
  requireObjectName(alias, "an alias");
  const { bodies } = deps;
  await readObject(request, { tenant, bodies, what: `the body of alias [${alias}]` });
  rememberAlias(tenant, { index, alias }, deps);
  return compatJson(request, ACKNOWLEDGED);
}

const ACTIONS_MAX = 1_000;

/** `{"actions":[{"add":{"index":"a","alias":"b"}}]}`: all of them or none. */
async function changeAliases(
  request: Request,
  { tenant, deps }: { tenant: string; deps: IndexRouteDeps },
): Promise<Response> {
  const { bodies } = deps;
  const body = await readObject(request, { tenant, bodies, what: "the actions on aliases" });
  const actions = body?.actions;
  if (!Array.isArray(actions) || actions.length === 0 || actions.length > ACTIONS_MAX) {
    throw malformed(`actions must be a list of 1 to ${ACTIONS_MAX}`);
  }
  for (const { action, ...alias } of changesOf(actions)) {
    if (action === "add") rememberAlias(tenant, alias, deps);
    else deps.objects.forget(tenant, ALIAS, `${alias.index}/${alias.alias}`);
  }
  return compatJson(request, ACKNOWLEDGED);
}

type Change = Alias & { readonly action: "add" | "remove" };

/**
 * Each index with each alias of its action. Their number is known before they are made: it is a
 * product of two lists.
 */
function changesOf(actions: readonly unknown[]): Change[] {
  const changes: Change[] = [];
  for (const entry of actions) {
    const [[action, what] = [], ...more] = isJsonObject(entry) ? Object.entries(entry) : [];
    if (more.length > 0 || (action !== "add" && action !== "remove") || !isJsonObject(what)) {
      throw malformed("each action is one of add and remove, an object");
    }
    const indexes = namesOf(what, "index", "indices");
    const aliases = namesOf(what, "alias", "aliases");
    if (changes.length + indexes.length * aliases.length > ACTIONS_MAX) {
      throw malformed(`they name more than ${ACTIONS_MAX} aliases`);
    }
    for (const index of indexes) {
      for (const alias of aliases) changes.push({ action, index, alias });
    }
  }
  return changes;
}

function namesOf(what: JsonObject, one: string, many: string): string[] {
  const given = what[one] ?? what[many];
  const names = Array.isArray(given) ? given : [given];
  return names.map((name) => {
    if (typeof name !== "string") throw malformed(`${one} is missing, or no name`);
    requireObjectName(name, one);
    return name;
  });
}

function malformed(why: string): OperatingError {
  return new OperatingError("invalid_argument", `Cannot change aliases: ${why}`, {
    reason: "malformed_body",
  });
}

interface AskedAliases {
  readonly tenant: string;
  readonly index: string;
  readonly alias: string | undefined;
  readonly deps: IndexRouteDeps;
}

function askedAliases(request: Request, options: AskedAliases): Response {
  const { tenant, index, alias = "*", deps } = options;
  const all = aliasesOf(tenant, deps);
  const { found, missing } = chosen(all.map((one) => ({ name: one.alias, text: "" })), alias);
  if (missing !== undefined && index === "*" && isMadeByRows(tenant, missing, deps)) {
    return compatJson(request, JSON.stringify({ [missing]: { aliases: { [missing]: {} } } }));
  }
  if (missing !== undefined) {
    return compatJson(
      request,
      JSON.stringify({ error: `alias [${missing}] missing`, status: 404 }),
      404,
    );
  }
  const wanted = new Set(found.map(({ name }) => name));
  const indexes = index.split(",", NAMES_MAX).map((part) => part.split("*"));
  const those = all.filter((one) =>
    wanted.has(one.alias) && indexes.some((pieces) => matches(pieces, one.index))
  );
  const shown = Array.from(
    Map.groupBy(those, (one) => one.index),
    ([name, aliases]) =>
      [name, { aliases: Object.fromEntries(aliases.map(({ alias }) => [alias, {}])) }] as const,
  );
  return compatJson(request, JSON.stringify(Object.fromEntries(shown)));
}
