/**
 * The least that a session needs besides SELECT: transactions that only read, settings that are
 * kept and told, and what forgets.
 */

import type { PgDone, PgPlan, PgPlanner, PgSessionView, PgSettings } from "./pg_plan.ts";
import { pgError } from "./sqlstate.ts";
import { OID } from "./types/oids.ts";
import { withoutComments } from "./session/split_statements.ts";

/** What `SHOW server_version` tells: the version whose protocol and catalog clients expect. */
export const SERVER_VERSION = "16.6";

/** Settings that clients are told of. */
const REPORTED: Readonly<Record<string, string>> = {
  application_name: "",
  client_encoding: "UTF8",
  DateStyle: "ISO, MDY",
  default_transaction_read_only: "on",
  in_hot_standby: "off",
  integer_datetimes: "on",
  IntervalStyle: "postgres",
  is_superuser: "off",
  server_encoding: "UTF8",
  server_version: SERVER_VERSION,
  session_authorization: "",
  standard_conforming_strings: "on",
  TimeZone: "UTC",
};

/** A client may name them; what they would change stays as it is. */
const FIXED: ReadonlySet<string> = new Set([
  "client_encoding",
  "datestyle",
  "timezone",
  "intervalstyle",
  "standard_conforming_strings",
]);

const SETTINGS_MAX = 64;
const VALUE_LENGTH_MAX = 1_000;

class BasicSettings implements PgSettings {
  readonly #values = new Map(
    Object.entries(REPORTED).map(([name, value]) => [name.toLowerCase(), { name, value }] as const),
  );

  get(name: string): string | undefined {
    return this.#values.get(name.toLowerCase())?.value;
  }

  set(name: string, value: string): void {
    const key = name.toLowerCase();
    if (FIXED.has(key)) return;
    if (this.#values.size >= SETTINGS_MAX || value.length > VALUE_LENGTH_MAX) return;
    this.#values.set(key, { name: this.#values.get(key)?.name ?? name, value });
  }

  reported(): ReadonlyMap<string, string> {
    return new Map(Object.keys(REPORTED).map((name) => [name, this.get(name) ?? ""]));
  }

  get statementTimeoutMs(): number | undefined {
    const found = /^(\d+)\s*(ms|s|min|h)?$/.exec(this.get("statement_timeout") ?? "");
    const ms = Number(found?.[1] ?? 0) * (UNIT_MS[found?.[2] ?? "ms"] ?? 1);
    return ms === 0 ? undefined : ms;
  }

  get applicationName(): string {
    return this.get("application_name") ?? "";
  }
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000 };

/** Names of the protocol that are no settings. */
const PROTOCOL_NAMES: ReadonlySet<string> = new Set(["user", "database", "options", "replication"]);

export const BASIC_PLANNER: PgPlanner = {
  settings(startup) {
    const settings = new BasicSettings();
    for (const [name, value] of startup) {
      if (!PROTOCOL_NAMES.has(name)) settings.set(name, value);
    }
    return settings;
  },
  plan(text, session) {
    const statement = withoutComments(text);
    if (statement === "") return { kind: "empty" };
    const word = /^[A-Za-z]+/.exec(statement)?.[0]?.toUpperCase() ?? "";
    return PLANS[word]?.(statement, session) ?? { kind: "engine", sql: text };
  },
};

type Planned = (statement: string, session: PgSessionView) => PgPlan | undefined;

const begins: Planned = (statement, session) => ({
  kind: "done",
  tag: /^START/i.test(statement) ? "START TRANSACTION" : "BEGIN",
  apply: () => {
    const isOpen = session.transaction !== "idle";
    session.begin();
    return isOpen ? warning("25001", "there is already a transaction in progress") : {};
  },
});

const ends = (word: string): Planned => (_statement, session) => ({
  kind: "done",
  tag: word,
  allowedInFailed: true,
  apply: () => {
    const { transaction } = session;
    session.end();
    if (transaction === "idle") return warning("25P01", "there is no transaction in progress");
    return transaction === "failed" ? { tag: "ROLLBACK" } : {};
  },
});

const PLANS: Readonly<Record<string, Planned>> = {
  BEGIN: begins,
  START: begins,
  COMMIT: ends("COMMIT"),
  END: ends("COMMIT"),
  ROLLBACK: ends("ROLLBACK"),
  ABORT: ends("ROLLBACK"),
  SET: (statement, { settings }) => ({
    kind: "done",
    tag: "SET",
    apply: () => {
      const found = /^SET\s+(?:SESSION\s+|LOCAL\s+)?([\w.]+)\s*(?:=|TO)\s*(.*)$/is.exec(statement);
      const [, name, value = ""] = found ?? [];
      if (name !== undefined && settings instanceof BasicSettings) {
        settings.set(name, value.trim().replace(/^'(.*)'$/s, "$1"));
      }
      return {};
    },
  }),
  RESET: () => ({ kind: "done", tag: "RESET", apply: () => ({}) }),
  SHOW: (statement, session) => {
    const name = /^SHOW\s+([\w.]+)$/i.exec(statement)?.[1];
    if (name === undefined || session.settings.get(name) === undefined) return undefined;
    return {
      kind: "rows",
      columns: [{ name, oid: OID.text }],
      rows: () => [[session.settings.get(name) ?? ""]],
      tag: "SHOW",
    };
  },
  DISCARD: (_statement, session) => ({
    kind: "done",
    tag: "DISCARD ALL",
    apply: () => {
      session.discard();
      return {};
    },
  }),
  DEALLOCATE: (statement, session) => ({
    kind: "done",
    tag: "DEALLOCATE",
    apply: () => {
      const name = /^DEALLOCATE\s+(?:PREPARE\s+)?(.*)$/is.exec(statement)?.[1]?.trim() ?? "";
      const isAll = /^ALL$/i.test(name);
      const plain = name.replace(/^"(.*)"$/s, "$1");
      if (session.deallocate(isAll ? undefined : plain)) return {};
      throw pgError("26000", `Cannot find the prepared statement ${JSON.stringify(plain)}`);
    },
  }),
};

function warning(sqlstate: string, message: string): PgDone {
  return { notices: [{ severity: "WARNING", sqlstate, message }] };
}
