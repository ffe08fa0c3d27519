/**
 * Settings of a session of PostgreSQL's protocol: what SHOW gives, SET changes and drivers are told
 * of unasked. Most of them change nothing here. They are kept so that a client which sets one reads
 * it back.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import { SERVER_VERSION } from "../../shared/engine/pg_catalog/relations.ts";
import type { PgSettings } from "../pg/pg_plan.ts";
import { INTERVAL_STYLES } from "../pg/types/column_type.ts";

/** How a setting is checked, and how it is told. Errors: `invalid_argument`. */
type Check = (text: string, name: string) => string;

interface Setting {
  readonly value: string;
  /** Absent: nobody can change it. */
  readonly check?: Check;
  /** Whether the client is told when it changes. */
  readonly isReported?: boolean;
}

const any: Check = (text) => text;

const oneOf = (...values: readonly string[]): Check => (text, name) => {
  const found = values.find((value) => value.toLowerCase() === text.toLowerCase());
  if (found === undefined) throw refused(name, text, `it is one of ${values.join(", ")}`);
  return found;
};

const bool: Check = (text, name) => {
  const lower = text.toLowerCase();
  if (["on", "true", "yes", "1", "t", "y"].includes(lower)) return "on";
  if (["off", "false", "no", "0", "f", "n"].includes(lower)) return "off";
  throw refused(name, text, "it is on or off");
};

const integer: Check = (text, name) => {
  if (!/^-?\d{1,9}$/.test(text)) throw refused(name, text, "it is an integer");
  return String(Number(text));
};

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  us: 0.001,
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds, written as PostgreSQL writes them: in the largest unit without a rest. */
const duration: Check = (text, name) => {
  const ms = millisecondsOf(text);
  if (ms === undefined) throw refused(name, text, "it is a time such as 5s, or milliseconds");
  if (ms === 0) return "0";
  const [unit = "ms", size = 1] = Object.entries(UNITS)
    .filter(([unit]) => unit !== "" && unit !== "us")
    .findLast(([, size]) => ms % size === 0) ?? [];
  return `${ms / size}${unit}`;
};

function millisecondsOf(text: string): number | undefined {
  const [, digits, unit = ""] = /^\s*(\d{1,10}(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text) ?? [];
  const size = UNITS[unit.toLowerCase()];
  return digits === undefined || size === undefined ? undefined : Math.round(Number(digits) * size);
}

/** PostgreSQL looks at the letters and digits of an encoding alone; asyncpg sends `'utf-8'`. */
const utf8: Check = (text, name) => {
  if (!/^(?:utf8|unicode|default)$/i.test(text.replaceAll(/[^a-z0-9]/gi, ""))) {
    throw refused(name, text, "texts are sent as UTF8 alone");
  }
  return "UTF8";
};

const dateStyle: Check = (text, name) => {
  if (!/\b(?:iso|default)\b/i.test(text) && !/^(?:mdy|dmy|ymd)$/i.test(text)) {
    throw refused(name, text, "times are written as ISO alone");
  }
  const order = /\b(dmy|ymd|mdy)\b/i.exec(text)?.[1]?.toUpperCase() ?? "MDY";
  return `ISO, ${order}`;
};

const timeZone: Check = (sent, name) => {
  // Sequelize sends an interval, from which PostgreSQL takes the offset.
  const text = /^interval '([^']*)'(?: hour to minute)?$/i.exec(sent)?.[1] ?? sent;
  if (
    /^(?:utc|gmt|etc\/utc|etc\/gmt|z|zulu|universal|0|[+-]00(?::?00)?|default|local)$/i.test(text)
  ) {
    return "UTC";
  }
  try {
    new Intl.DateTimeFormat("en", { timeZone: text });
  } catch {
    throw refused(name, text, "there is no such time zone");
  }
  // The engine computes in UTC, and an instant is the same in any zone.
  return text;
};

const READ_ONLY: Check = (text, name) => {
  bool(text, name);
  return "on";
};

/** By name as PostgreSQL writes it. */
const SETTINGS: Readonly<Record<string, Setting>> = {
  server_version: { value: SERVER_VERSION, isReported: true },
  server_version_num: { value: "160006" },
  server_encoding: { value: "UTF8", isReported: true },
  client_encoding: { value: "UTF8", check: utf8, isReported: true },
  integer_datetimes: { value: "on", isReported: true },
  standard_conforming_strings: { value: "on", check: oneOf("on"), isReported: true },
  DateStyle: { value: "ISO, MDY", check: dateStyle, isReported: true },
  IntervalStyle: { value: "postgres", check: oneOf(...INTERVAL_STYLES), isReported: true },
  TimeZone: { value: "UTC", check: timeZone, isReported: true },
  application_name: { value: "", check: any, isReported: true },
  is_superuser: { value: "off", isReported: true },
  session_authorization: { value: "", isReported: true },
  in_hot_standby: { value: "off", isReported: true },
  default_transaction_read_only: { value: "on", check: READ_ONLY, isReported: true },
  transaction_read_only: { value: "on", check: READ_ONLY },
  transaction_isolation: {
    value: "read committed",
    check: oneOf("read committed", "repeatable read", "serializable", "read uncommitted"),
  },
  default_transaction_isolation: {
    value: "read committed",
    check: oneOf("read committed", "repeatable read", "serializable", "read uncommitted"),
  },
  default_transaction_deferrable: { value: "off", check: bool },
  transaction_deferrable: { value: "off", check: bool },
  search_path: { value: "", check: any },
  statement_timeout: { value: "0", check: duration },
  lock_timeout: { value: "0", check: duration },
  idle_in_transaction_session_timeout: { value: "0", check: duration },
  idle_session_timeout: { value: "0", check: duration },
  extra_float_digits: { value: "1", check: integer },
  bytea_output: { value: "hex", check: oneOf("hex") },
  client_min_messages: { value: "notice", check: any },
  lc_collate: { value: "C" },
  lc_ctype: { value: "C" },
  lc_messages: { value: "C", check: any },
  lc_monetary: { value: "C", check: any },
  lc_numeric: { value: "C", check: any },
  lc_time: { value: "C", check: any },
  max_index_keys: { value: "32" },
  max_identifier_length: { value: "63" },
  block_size: { value: "8192" },
  jit: { value: "off", check: bool },
  row_security: { value: "on", check: bool },
  synchronous_commit: { value: "on", check: any },
  work_mem: { value: "4MB", check: any },
  enable_seqscan: { value: "on", check: bool },
  xmloption: { value: "content", check: any },
  xmlbinary: { value: "base64", check: any },
  check_function_bodies: { value: "on", check: bool },
  default_with_oids: { value: "off", check: bool },
  escape_string_warning: { value: "on", check: bool },
  backslash_quote: { value: "safe_encoding", check: any },
  ssl_renegotiation_limit: { value: "0", check: any },
};

/** What a client is told of at the start. */
const REPORTED = Object.entries(SETTINGS).filter(([, { isReported }]) => isReported === true)
  .map(([name]) => name);
const NO_CHANGES: ReadonlyMap<string, string> = new Map();

/** Names in lower case, and other names of the same setting. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ...Object.keys(SETTINGS).map((name) => [name.toLowerCase(), name] as const),
  ["time zone", "TimeZone"],
  ["transaction isolation level", "transaction_isolation"],
  ["names", "client_encoding"],
]);

/** Settings that an extension has are named with a point. A session keeps so many. */
const CUSTOM_MAX = 64;
const CUSTOM_LENGTH_MAX = 1_024;

/** What every session begins with, by lower-cased name. */
const DEFAULTS: ReadonlyMap<string, string> = new Map(
  Object.entries(SETTINGS).map(([name, { value }]) => [name.toLowerCase(), value]),
);

/**
 * The settings of one session. It holds those alone that are not the default, since each idle
 * session would hold the others, too.
 */
export class SessionSettings implements PgSettings {
  /** Never written to: what changes is a map anew. */
  #own: ReadonlyMap<string, string>;
  #initial: ReadonlyMap<string, string>;
  #schema = "";
  /** What the client was told of a setting that it is to be told of again. */
  #toldBefore: ReadonlyMap<string, string> = NO_CHANGES;

  /** `own`: what this session begins with. Errors: `invalid_argument`. */
  constructor(own: ReadonlyMap<string, string>) {
    this.#own = new Map([...own].map(([name, value]) => [name.toLowerCase(), value]));
    this.#initial = this.#own;
  }

  /** By lower-cased name, as `current_setting` reads them. */
  get values(): ReadonlyMap<string, string> {
    const values = new Map([...DEFAULTS, ...this.#own]);
    return values.set(SEARCH_PATH, this.get(SEARCH_PATH) ?? "");
  }

  get(name: string): string | undefined {
    const key = keyOf(name);
    const value = this.#own.get(key) ?? DEFAULTS.get(key);
    return key === SEARCH_PATH && value === "" ? this.#schema : value;
  }

  reported(): ReadonlyMap<string, string> {
    return new Map(REPORTED.map((name) => [name, this.get(name) ?? ""]));
  }

  takeChanges(): ReadonlyMap<string, string> {
    if (this.#toldBefore.size === 0) return NO_CHANGES;
    const before = this.#toldBefore;
    this.#toldBefore = NO_CHANGES;
    return new Map([...this.reported()].filter(([name, value]) => before.get(name) !== value));
  }

  get statementTimeoutMs(): number | undefined {
    return millisecondsOf(this.get("statement_timeout") ?? "0") || undefined;
  }

  get applicationName(): string {
    return this.get("application_name") ?? "";
  }

  /** From now on RESET goes back to what the values are now. */
  asInitial(): void {
    this.#initial = this.#own;
    this.#toldBefore = NO_CHANGES;
  }

  /** The schema in which names are looked up, where the client named no other. */
  foundIn(schema: string): void {
    this.#schema = schema;
  }

  /** Returns the value as it is told from then on. Errors: `invalid_argument`. */
  set(name: string, value: string): string {
    const key = keyOf(name);
    const known = SETTINGS[NAMES.get(key) ?? ""];
    const told = known === undefined ? custom(key, value) : checked(known, name, value);
    if (known === undefined && !this.#own.has(key) && this.#customs() >= CUSTOM_MAX) {
      throw refused(name, value, `a session keeps ${CUSTOM_MAX} settings of its own`);
    }
    this.#change(new Map(this.#own).set(key, told));
    return told;
  }

  /** Undefined: all of them. Errors: `invalid_argument`. */
  reset(name?: string): void {
    if (name === undefined) return this.#change(this.#initial);
    const key = keyOf(name);
    const initial = this.#initial.get(key);
    const own = new Map(this.#own);
    if (initial === undefined) own.delete(key);
    else own.set(key, initial);
    this.#change(own);
  }

  /** All names and values, for `SHOW ALL`. */
  all(): readonly (readonly [string, string])[] {
    return [...this.values].sort(([a], [b]) => a < b ? -1 : 1)
      .map(([key, value]) => [NAMES.get(key) ?? key, value]);
  }

  #change(own: ReadonlyMap<string, string>): void {
    if (this.#toldBefore.size === 0) this.#toldBefore = this.reported();
    this.#own = own;
  }

  #customs(): number {
    return [...this.#own.keys()].filter((key) => !NAMES.has(key)).length;
  }
}

const SEARCH_PATH = "search_path";

function keyOf(name: string): string {
  const lower = name.trim().toLowerCase();
  return (NAMES.get(lower) ?? lower).toLowerCase();
}

function checked({ check, value }: Setting, name: string, text: string): string {
  if (check === undefined) throw refused(name, text, "it cannot be changed", "55P02");
  if (text.length > CUSTOM_LENGTH_MAX) throw refused(name, text, "the value is too long");
  return text.toLowerCase() === "default" ? value : check(text, name);
}

function custom(key: string, value: string): string {
  if (key.length > CUSTOM_LENGTH_MAX || !/^[a-z_][\w$]*(?:\.[a-z_][\w$]*)+$/.test(key)) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot set ${
        JSON.stringify(key.slice(0, 100))
      }: there is no such setting; SHOW ALL lists them`,
      { details: { sqlstate: "42704" } },
    );
  }
  if (value.length > CUSTOM_LENGTH_MAX) throw refused(key, value, "the value is too long");
  return value;
}

function refused(name: string, value: string, why: string, sqlstate = "22023"): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot set ${name} to ${JSON.stringify(value.slice(0, 100))}: ${why}`,
    { details: { sqlstate } },
  );
}
