/**
 * Decides what a statement of a PostgreSQL client means: a session's own statement is done here,
 * all else is the engine's, which answers the catalog, too.
 */

import { assert } from "../../shared/base/assert.ts";
import { SERVER_VERSION } from "../../shared/engine/pg_catalog/relations.ts";
import { BLANK_END } from "../../shared/engine/statement/parse.ts";
import type { PgSession } from "../../shared/engine/types.ts";
import type { PgPlan, PgPlanner, PgSessionView, PgSettings } from "../pg/pg_plan.ts";
import { SessionSettings } from "./pg_settings.ts";
import { sessionCommand } from "./session_commands.ts";

/** What a startup message has that is no setting. */
const NO_SETTINGS: ReadonlySet<string> = new Set(["user", "database", "options", "replication"]);

/** The planner of all sessions; it keeps nothing. */
export const PG_PLANNER: PgPlanner = {
  settings(startup: ReadonlyMap<string, string>): PgSettings {
    const settings = new SessionSettings(
      new Map([["session_authorization", startup.get("user") ?? ""]]),
    );
    for (const [name, value] of startup) {
      if (!NO_SETTINGS.has(name) && !name.startsWith("_pq_.")) settings.set(name, value);
    }
    for (const [name, value] of optionsOf(startup.get("options") ?? "")) settings.set(name, value);
    settings.asInitial();
    return settings;
  },

  plan(text: string, session: PgSessionView): PgPlan {
    const { settings } = session;
    assert(settings instanceof SessionSettings, "a session has the settings of its planner");
    settings.foundIn(session.caller.namespace);
    const plain = plainText(text);
    if (plain === "") return { kind: "empty" };
    const command = sessionCommand(plain, { session, settings });
    if (command !== undefined) return command;
    setConfigs(plain, settings);
    const besides = { session: sessionOf(session, settings) };
    return { kind: "engine", sql: text, isOfCatalog: /\bpg_/i.test(plain), besides };
  },
};

/** `-c name=value --name=value`, with `\ ` for a blank in a value. */
function optionsOf(options: string): readonly (readonly [string, string])[] {
  const words = options.match(/(?:\\.|\S)+/g) ?? [];
  return words.filter((word) => word !== "-c").flatMap((word) => {
    const [, name, value] = /^(?:-c|--)?([\w.-]+)=(.*)$/s.exec(word) ?? [];
    if (name === undefined || value === undefined) return [];
    return [[name.replaceAll("-", "_"), value.replaceAll(/\\(.)/g, "$1")] as const];
  });
}

/** The statement without comments and semicolons, its blanks as one each. Texts stay. */
function plainText(text: string): string {
  return text.replaceAll(PIECES, (piece, kept?: string) => kept ?? (piece.length > 0 ? " " : ""))
    .replace(BLANK_END, "").trim();
}

const PIECES = /('(?:[^']|'')*'|"(?:[^"]|"")*")|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\s+/g;

/** Sets what `SELECT set_config('name', 'value', …)` is to set. */
function setConfigs(plain: string, settings: SessionSettings): void {
  if (!/^select\b.*\bset_config\s*\(/is.test(plain)) return;
  for (const { groups } of plain.matchAll(SET_CONFIG)) {
    const { name = "", value = "" } = groups ?? {};
    settings.set(name, value.replaceAll("''", "'"));
  }
}

const SET_CONFIG =
  /\bset_config\s*\(\s*'(?<name>[\w.]+)'(?:::\w+)?\s*,\s*'(?<value>(?:[^']|'')*)'(?:::\w+)?\s*,/gi;

/** Settings are read when the statement runs, not when it is planned. */
function sessionOf(session: PgSessionView, settings: SessionSettings): PgSession {
  const { user, database, processId } = session;
  const version = `PostgreSQL ${SERVER_VERSION} (svc)`;
  return {
    ...{ user, database, processId, version },
    get settings() {
      return settings.values;
    },
  };
}
