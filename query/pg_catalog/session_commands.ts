/**
 * The statements of a session: SET, SHOW, BEGIN and the like, by their first words. Each is one
 * pattern and what it does. What none of them fits is the engine's.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { PgDone, PgNotice, PgPlan, PgSessionView } from "../pg/pg_plan.ts";
import type { SessionSettings } from "./pg_settings.ts";

/** What a command works on. */
export interface CommandContext {
  readonly session: PgSessionView;
  readonly settings: SessionSettings;
}

interface Command {
  /** Fits the whole statement, without comments, semicolons and doubled blanks. */
  readonly pattern: RegExp;
  readonly plan: (
    context: CommandContext,
    groups: Readonly<Record<string, string | undefined>>,
  ) => PgPlan;
}

const OID_TEXT = 25;

/** Returns the plan of a session's statement; undefined: it is none. */
export function sessionCommand(plain: string, context: CommandContext): PgPlan | undefined {
  for (const { pattern, plan } of COMMANDS) {
    const found = pattern.exec(plain);
    if (found !== null) return plan(context, found.groups ?? {});
  }
  return undefined;
}

function done(
  tag: string,
  apply: () => PgDone | undefined | void = () => undefined,
  allowedInFailed = false,
): PgPlan {
  return { kind: "done", tag, allowedInFailed, apply: () => apply() ?? {} };
}

function warning(sqlstate: string, message: string): { readonly notices: readonly PgNotice[] } {
  return { notices: [{ severity: "WARNING", sqlstate, message }] };
}

const NONE_OPEN = ["25P01", "there is no transaction in progress"] as const;

/** A transaction reads what each of its statements finds: nothing holds one state for it. */
function begin({ session }: CommandContext, tag: string): PgPlan {
  return done(tag, () => {
    if (session.transaction !== "idle") {
      return warning("25001", "there is already a transaction in progress");
    }
    session.begin();
    return {};
  });
}

function end({ session }: CommandContext, tag: string): PgPlan {
  return done(tag, () => {
    const { transaction } = session;
    session.end();
    if (transaction === "idle") return warning(...NONE_OPEN);
    // What PostgreSQL calls the end of a transaction that has failed.
    return transaction === "failed" ? { tag: "ROLLBACK" } : undefined;
  }, true);
}

function savepoint({ session }: CommandContext, tag: string): PgPlan {
  return done(tag, () => {
    if (session.transaction === "idle") {
      throw new OperatingError(
        "invalid_argument",
        `Cannot run ${tag}: it is for transaction blocks; send BEGIN first`,
        { details: { sqlstate: "25P01" } },
      );
    }
  });
}

function set({ settings }: CommandContext, name: string, value: string): PgPlan {
  return done("SET", () => {
    const told = settings.set(unquoted(name), value);
    return /^time ?zone$/i.test(name) && told !== "UTC"
      ? warning("01000", "times are told in UTC, whatever TimeZone is")
      : undefined;
  });
}

function show({ settings }: CommandContext, name: string): PgPlan | undefined {
  const value = settings.get(name);
  if (value === undefined) return undefined;
  return {
    kind: "rows",
    columns: [{ name: columnOf(name), oid: OID_TEXT }],
    rows: () => [[settings.get(name) ?? ""]],
    tag: "SHOW",
  };
}

function columnOf(name: string): string {
  const lower = name.toLowerCase();
  if (lower === "transaction isolation level") return "transaction_isolation";
  return lower === "time zone" ? "TimeZone" : lower;
}

function unknownSetting(name: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot show ${JSON.stringify(name)}: there is no such setting; SHOW ALL lists them, ` +
      "SHOW TABLES the tables",
    { details: { sqlstate: "42704" } },
  );
}

/** `'it''s'` is it's; a list keeps its commas. */
function valueOf(text: string): string {
  const parts = text.match(/'(?:[^']|'')*'|[^,]+/g) ?? [text];
  return parts.map((part) => part.trim()).map((part) =>
    /^'.*'$/s.test(part) ? part.slice(1, -1).replaceAll("''", "'") : unquoted(part)
  ).join(", ");
}

function unquoted(name: string): string {
  return /^".*"$/s.test(name) ? name.slice(1, -1).replaceAll('""', '"') : name;
}

const COMMANDS: readonly Command[] = [
  { pattern: /^begin\b(?: work| transaction)?(?<modes> .*)?$/i, plan: (at) => begin(at, "BEGIN") },
  { pattern: /^start transaction\b.*$/i, plan: (at) => begin(at, "START TRANSACTION") },
  {
    pattern: /^(?:commit|end)(?: work| transaction)?(?: and no chain)?$/i,
    plan: (at) => end(at, "COMMIT"),
  },
  {
    pattern: /^(?:rollback|abort)(?: work| transaction)?(?: and no chain)?$/i,
    plan: ({ session }) =>
      done("ROLLBACK", () => {
        const wasIdle = session.transaction === "idle";
        session.end(!wasIdle);
        return wasIdle ? warning(...NONE_OPEN) : undefined;
      }, true),
  },
  { pattern: /^savepoint \S+$/i, plan: (at) => savepoint(at, "SAVEPOINT") },
  { pattern: /^release(?: savepoint)? \S+$/i, plan: (at) => savepoint(at, "RELEASE") },
  {
    // A savepoint keeps nothing, as there is nothing to undo. The transaction goes on.
    pattern: /^rollback(?: work| transaction)? to(?: savepoint)? \S+$/i,
    plan: ({ session }) =>
      done("ROLLBACK", () => {
        if (session.transaction === "idle") return warning(...NONE_OPEN);
        session.end();
        session.begin();
        return {};
      }, true),
  },
  {
    pattern: /^set(?: session| local)? (?:session characteristics as )?transaction\b.*$/i,
    plan: () => done("SET"),
  },
  { pattern: /^set session characteristics as transaction\b.*$/i, plan: () => done("SET") },
  { pattern: /^set constraints\b.*$/i, plan: () => done("SET CONSTRAINTS") },
  {
    pattern: /^set(?: session| local)? (?:role|session authorization)\b.*$/i,
    plan: () => done("SET"),
  },
  {
    pattern: /^set(?: session| local)? time zone (?<value>.+)$/is,
    plan: (at, { value = "" }) => set(at, "TimeZone", valueOf(value)),
  },
  {
    pattern: /^set names(?: (?<value>.+))?$/is,
    plan: (at, { value = "default" }) => set(at, "client_encoding", valueOf(value)),
  },
  {
    pattern: /^set(?: session| local)? (?<name>"[^"]+"|[\w.$]+) ?(?:=| to ) ?(?<value>.+)$/is,
    plan: (at, { name = "", value = "" }) => set(at, name, valueOf(value)),
  },
  { pattern: /^reset all$/i, plan: ({ settings }) => done("RESET", () => settings.reset()) },
  {
    pattern: /^reset (?:session authorization|role)$/i,
    plan: () => done("RESET"),
  },
  {
    pattern: /^reset (?<name>time zone|"[^"]+"|[\w.$]+)$/i,
    plan: ({ settings }, { name = "" }) => done("RESET", () => settings.reset(unquoted(name))),
  },
  {
    pattern: /^show all$/i,
    plan: ({ settings }) => ({
      kind: "rows",
      columns: ["name", "setting", "description"].map((name) => ({ name, oid: OID_TEXT })),
      rows: () => settings.all().map(([name, value]) => [name, value, ""]),
      tag: "SHOW",
    }),
  },
  {
    // The engine tells of tables: SHOW TABLES.
    pattern:
      /^show (?!(?:all )?tables$)(?<name>time zone|transaction isolation level|"[^"]+"|[\w.$]+)$/i,
    plan: (at, { name = "" }) => {
      const plan = show(at, unquoted(name));
      if (plan === undefined) throw unknownSetting(name);
      return plan;
    },
  },
  {
    pattern: /^discard (?<what>all|plans|temp|temporary|sequences)$/i,
    plan: ({ session, settings }, { what = "" }) =>
      done(`DISCARD ${what.toUpperCase().replace("TEMPORARY", "TEMP")}`, () => {
        if (what.toLowerCase() !== "all") return;
        if (session.transaction !== "idle") {
          throw new OperatingError(
            "invalid_argument",
            "Cannot run DISCARD ALL within a transaction: send COMMIT or ROLLBACK first",
            { details: { sqlstate: "25001" } },
          );
        }
        settings.reset();
        session.discard();
      }),
  },
  {
    pattern: /^deallocate(?: prepare)? (?<name>all|"[^"]+"|\w+)$/i,
    plan: ({ session }, { name = "" }) => {
      const isAll = name.toLowerCase() === "all";
      return done(isAll ? "DEALLOCATE ALL" : "DEALLOCATE", () => {
        const wanted = isAll ? undefined : /^"/.test(name) ? unquoted(name) : name.toLowerCase();
        if (session.deallocate(wanted) || isAll) return;
        throw new OperatingError(
          "invalid_argument",
          `Cannot deallocate ${JSON.stringify(name)}: there is no such prepared statement`,
          { details: { sqlstate: "26000" } },
        );
      });
    },
  },
  // Nothing is ever notified.
  { pattern: /^listen \S+$/i, plan: () => done("LISTEN") },
  { pattern: /^unlisten \S+$/i, plan: () => done("UNLISTEN") },
];
