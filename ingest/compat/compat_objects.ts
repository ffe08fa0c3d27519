/**
 * What shippers put before they send, and ask for before they put it. Nothing of it changes
 * anything here, which the log says once for each; an index is configured at the query server.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { ByteBudget } from "../../shared/base/byte_budget.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { matches } from "../bulk/filter_path.ts";
import { type ClientObject, type ClientObjects, OBJECT_NAME_MAX } from "./client_objects.ts";
import { readObject } from "./compat_body.ts";
import { OBJECT_KINDS, type ObjectKind } from "./compat_object_kinds.ts";
import { ACKNOWLEDGED, compatFault, compatJson } from "./compat_reply.ts";
import { ASKED, type CompatRoute, PUT_ROUTE } from "./compat_route.ts";
import type { IdleNotes } from "../idle_notes.ts";

export interface ObjectRouteDeps {
  readonly objects: ClientObjects;
  readonly bodies: ByteBudget;
  readonly clock: Pick<Clock, "nowMs">;
  readonly notes: IdleNotes;
}

/** Two rows a kind: how its objects are put, and asked for. */
export function objectRoutes(deps: ObjectRouteDeps): CompatRoute[] {
  return OBJECT_KINDS.flatMap((kind): CompatRoute[] => {
    const named = new RegExp(`^/${kind.path}/([^/]+)$`);
    return [
      {
        ...PUT_ROUTE,
        path: named,
        handle: (request, { tenant, names: [name = ""] }) =>
          putObject(request, { kind, name, tenant, deps }),
      },
      {
        ...ASKED,
        path: new RegExp(`^/${kind.path}(?:/([^/]+))?/?$`),
        handle: (request, { tenant, names: [wanted = "*"] }) =>
          askedObjects(request, { kind, wanted, all: deps.objects.list(tenant, kind.path) }),
      },
    ];
  });
}

interface PutOptions {
  readonly kind: ObjectKind;
  readonly name: string;
  readonly tenant: string;
  readonly deps: ObjectRouteDeps;
}

async function putObject(request: Request, options: PutOptions): Promise<Response> {
  const { kind, name, tenant, deps } = options;
  const { objects, bodies, clock, notes } = deps;
  requireObjectName(name, kind.title);
  const what = `the body of ${kind.title} [${name}]`;
  const body = await readObject(request, { tenant, bodies, what });
  if (body === undefined && kind.needsBody) {
    throw new OperatingError("invalid_argument", "request body is required", {
      reason: "empty_body",
    });
  }
  if (kind.isUnique === true && objects.has(tenant, kind.path, name)) {
    return compatFault(request, {
      status: 400,
      type: "resource_already_exists_exception",
      reason: `${kind.path.slice(1)} [${name}] already exists`,
    });
  }
  const text = JSON.stringify(kind.shown(body ?? {}, { name, nowMs: clock.nowMs() }));
  objects.put(tenant, kind.path, { name, text });
  notes.tell({ tenant, title: kind.title, name });
  return compatJson(request, ACKNOWLEDGED);
}

/** Errors: `invalid_argument` for what is a pattern, or too long. */
export function requireObjectName(name: string, title: string): void {
  if (name.length <= OBJECT_NAME_MAX && /^[^\s*,?"<>|\\/]+$/.test(name)) return;
  throw new OperatingError(
    "invalid_argument",
    `Cannot take ${
      JSON.stringify(name.slice(0, 100))
    } as the name of ${title}: it has up to ${OBJECT_NAME_MAX} ` +
      'characters, none of them a space or one of * , ? " < > | \\ /',
    { reason: "bad_name" },
  );
}

interface AskedOptions {
  readonly kind: ObjectKind;
  /** Names and patterns, separated by commas. */
  readonly wanted: string;
  readonly all: readonly ClientObject[];
}

function askedObjects(request: Request, { kind, wanted, all }: AskedOptions): Response {
  const { found, missing } = chosen(all, wanted);
  if (missing !== undefined) {
    return kind.missing === undefined
      ? compatJson(request, "{}", 404)
      : compatFault(request, { status: 404, ...kind.missing(missing) });
  }
  const texts = found.map(({ name, text }) =>
    kind.listMember === undefined ? `${JSON.stringify(name)}:${text}` : text
  );
  const list = texts.join(",");
  const reply = kind.listMember === undefined ? `{${list}}` : `{"${kind.listMember}":[${list}]}`;
  return compatJson(request, reply);
}

const WANTED_LENGTH_MAX = 4_096;
const WANTED_MAX = 64;

/** The objects that `wanted` names; `missing` is a name, no pattern, that none of them has. */
export function chosen(
  all: readonly ClientObject[],
  wanted: string,
): { found: readonly ClientObject[]; missing: string | undefined } {
  const parts = wanted.slice(0, WANTED_LENGTH_MAX).split(",", WANTED_MAX).filter((part) =>
    part !== ""
  );
  const patterns = parts.map((part) => part === "_all" ? ["", ""] : part.split("*"));
  const found = all.filter(({ name }) => patterns.some((pieces) => matches(pieces, name)));
  const missing = parts.find((part, at) =>
    patterns[at]?.length === 1 && !found.some(({ name }) => name === part)
  );
  return { found, missing };
}
