/** What a session does for PREPARE, EXECUTE, DECLARE, FETCH and CLOSE as SQL statements. */

import { utf8 } from "../../../shared/base/bytes.ts";
import type { PgDone, PgSessionView } from "../pg_plan.ts";
import { pgError } from "../sqlstate.ts";
import { BINARY_FORMAT, type Format } from "../types/formats.ts";
import type { DeclarePlan } from "./answers.ts";
import { boundValues } from "./bound_values.ts";
import type {
  Portal,
  Prepared,
  QueryPlan,
  SessionPlan,
  SessionStatements,
} from "./prepared_statements.ts";
import type { SqlCommand } from "./sql_commands.ts";

/** What a command works on. */
export interface CommandSession extends Pick<PgSessionView, "transaction"> {
  readonly kept: SessionStatements;
  /** Plans what is no command itself. `given` absent: the statement may have no parameters. */
  prepareQuery(text: string, given?: readonly number[]): Promise<Prepared>;
  typesOf(statement: Prepared): Promise<readonly number[]>;
  check(statement: Prepared): Promise<void>;
  dropPortal(name: string): Promise<void>;
}

/** The statement as it was sent. */
interface Sent {
  readonly text: string;
  /** Types of parameters; absent: there are none, since nothing binds them. */
  readonly given: readonly number[] | undefined;
}

/**
 * The plan of a command. EXECUTE has the plan of the statement that it names, and fixed values.
 * Errors: those of the inner statement, SQLSTATE 26000 for a name that nothing has, 42601 for
 * another number of values than the statement takes.
 */
export async function plannedCommand(
  session: CommandSession,
  command: SqlCommand,
  { text, given }: Sent,
): Promise<Prepared> {
  const alone = (plan: SessionPlan): Prepared => ({ text, plan, given: [], needed: 0 });
  switch (command.kind) {
    case "prepare": {
      const { name, sql, oids } = command;
      const inner = await session.prepareQuery(sql, oids);
      queryPlan(inner, "PREPARE");
      return alone(done("PREPARE", async () => {
        // What is wrong with it is told now, as PostgreSQL does.
        await session.check(inner);
        session.kept.addStatement(name, inner);
      }));
    }
    case "execute":
      return { ...await executed(session, command), text };
    case "declare": {
      const inner = await session.prepareQuery(command.sql, given);
      const plan = queryPlan(inner, "DECLARE");
      return { ...inner, text, plan: { ...command, inner: plan } };
    }
    case "fetch":
      return alone(command);
    case "close":
      return alone(closing(session, command.name));
  }
}

/** Adds the portal of a DECLARE. Errors: SQLSTATE 25P01, 42P03; those of too many portals. */
export function declared(
  session: CommandSession,
  { name, inner, isBinary, isHeld, sql }: DeclarePlan,
  { statement: { given, needed }, parameters }: Portal,
): void {
  if (session.transaction !== "open" && !isHeld) {
    throw pgError("25P01", "Cannot declare a cursor outside of a transaction", {
      hint: "Send BEGIN first, as a cursor ends with its transaction, or declare it WITH HOLD.",
    });
  }
  const { portals } = session.kept;
  if (portals.get(name) !== undefined) {
    throw pgError("42P03", `Cannot declare the cursor ${JSON.stringify(name)}: there is one`);
  }
  const statement = { text: sql, plan: inner, given, needed };
  const formats: Format[] = isBinary ? [BINARY_FORMAT] : [];
  const values = JSON.stringify(parameters).length;
  portals.set(
    name,
    { statement, parameters, formats, isCursor: true, ...isHeld ? { held: "new" } : {} },
    2 * sql.length + 4 * values,
  );
}

/** Nothing but a query can be prepared, or has rows to fetch. */
function queryPlan({ plan }: Prepared, what: string): QueryPlan {
  if (plan.kind === "engine" || plan.kind === "rows") return plan;
  throw pgError("42601", `Cannot ${what} this statement: it is no query`);
}

async function executed(
  session: CommandSession,
  { name, values }: Extract<SqlCommand, { readonly kind: "execute" }>,
): Promise<Prepared> {
  const statement = session.kept.statement(name);
  const oids = await session.typesOf(statement);
  if (values.length !== oids.length) {
    throw pgError(
      "42601",
      `Cannot execute ${JSON.stringify(name)} with ${values.length} values: ` +
        `it has ${oids.length} parameters`,
    );
  }
  const sent = values.map((value) => value === null ? null : utf8(value));
  const fixed = await boundValues(session, statement, { formats: [], sent });
  const { plan, columns } = statement;
  return {
    ...{ text: statement.text, plan, given: [], needed: 0, fixed },
    ...columns === undefined ? {} : { columns },
  };
}

function closing(session: CommandSession, name: string | undefined): SessionPlan {
  if (name !== undefined) {
    return done("CLOSE CURSOR", async () => {
      session.kept.portal(name);
      await session.dropPortal(name);
    });
  }
  return done("CLOSE CURSOR ALL", async () => {
    const { portals } = session.kept;
    for (const each of portals.names()) {
      if (portals.get(each)?.isCursor === true) await session.dropPortal(each);
    }
  });
}

function done(tag: string, apply: () => Promise<void>): SessionPlan {
  return { kind: "done", tag, apply: () => apply().then((): PgDone => ({})) };
}
