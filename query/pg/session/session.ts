/**
 * One session behind its startup: messages of its client, one after the other. What a statement
 * means is the planner's; how it runs is `answers.ts`'s.
 *
 * Invariants: a session that waits for its client holds no slot of the engine. After an error in
 * the extended protocol nothing is done until the client's Sync.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf, OperatingError } from "../../../shared/base/errors.ts";
import { STATEMENTS_PER_QUERY_MAX } from "../limits.ts";
import { serverStops } from "../../sql/call_failures.ts";
import type { PgSessionView, PgSettings } from "../pg_plan.ts";
import { errorFields, pgError } from "../sqlstate.ts";
import { MessageFields } from "../wire/message_fields.ts";
import type { Message, MessageReader } from "../wire/message_reader.ts";
import {
  ConnectionLost,
  type MessageWriter,
  type TransactionStatus,
} from "../wire/message_writer.ts";
import { type DeclarePlan, SessionAnswers, type SessionService } from "./answers.ts";
import {
  boundValues,
  formatsOf,
  parametersNeeded,
  refuseParameters,
  sentValues,
} from "./bound_values.ts";
import { declared, plannedCommand } from "./command_plans.ts";
import { type Portal, type Prepared, SessionStatements } from "./prepared_statements.ts";
import type { SessionCaller } from "./session_caller.ts";
import { type PartOfQuery, splitStatements, withoutComments } from "./split_statements.ts";
import { parseSqlCommand } from "./sql_commands.ts";

/** What a session is made of, once its client is known. */
export interface SessionParts {
  readonly service: SessionService;
  readonly caller: SessionCaller;
  readonly reader: MessageReader;
  readonly writer: MessageWriter;
  readonly connection: {
    /** Ends it at once. */
    close(): void;
  };
  readonly settings: PgSettings;
  readonly user: string;
  readonly database: string;
  readonly processId: number;
}

const STATUS: Readonly<Record<PgSessionView["transaction"], TransactionStatus>> = {
  idle: "I",
  open: "T",
  failed: "E",
};

export class PgSession implements PgSessionView {
  /** By code; one table for all sessions, since each idle one would hold its own. */
  static readonly #extended: Readonly<
    Record<string, (session: PgSession, body: Uint8Array) => Promise<void> | void>
  > = {
    P: (session, body) => session.#parse(new MessageFields(body, "Parse")),
    B: (session, body) => session.#bind(new MessageFields(body, "Bind")),
    D: (session, body) => session.#describe(new MessageFields(body, "Describe")),
    E: (session, body) => session.#execute(new MessageFields(body, "Execute")),
    C: (session, body) => session.#close(new MessageFields(body, "Close")),
    H: (session) => session.#parts.writer.flush(),
    F: () => {
      throw pgError("0A000", "Cannot call a function by its own message: write a SELECT");
    },
    // A client that copies in, which was refused, ends it like this.
    d: () => {},
    c: () => {},
    f: () => {},
  };
  readonly user: string;
  readonly database: string;
  readonly processId: number;
  readonly settings: PgSettings;
  readonly #parts: SessionParts;
  readonly kept: SessionStatements;
  readonly #answers: SessionAnswers;
  #transaction: PgSessionView["transaction"] = "idle";
  /** Messages are passed over up to the next Sync. */
  #isSkipping = false;
  #isStopping = false;
  /** Nothing is done until the client's next message. */
  #isWaiting = false;

  constructor(parts: SessionParts) {
    const { service, settings, user, database, processId } = parts;
    this.#parts = parts;
    this.user = user;
    this.database = database;
    this.processId = processId;
    this.settings = settings;
    this.kept = new SessionStatements(service.answers.hold(parts.caller.known.tenant));
    this.#answers = new SessionAnswers(parts, this);
  }

  get caller(): PgSessionView["caller"] {
    return this.#parts.caller.known;
  }

  get transaction(): PgSessionView["transaction"] {
    return this.#transaction;
  }

  begin(): void {
    if (this.#transaction === "idle") this.#transaction = "open";
  }

  end(isUndone = false): void {
    if (isUndone || this.#transaction === "failed") this.#release(["new"]);
    this.#transaction = "idle";
  }

  /** Cursors WITH HOLD of these kinds end as any other does. */
  #release(kinds: readonly Portal["held"][]): void {
    for (const portal of this.kept.portals.values()) {
      if (kinds.includes(portal.held)) delete portal.held;
    }
  }

  /** Adds the portal of a DECLARE. */
  declare(plan: DeclarePlan, portal: Portal): void {
    declared(this, plan, portal);
  }

  deallocate(name: string | undefined): boolean {
    const { statements } = this.kept;
    if (name !== undefined) return statements.delete(name) !== undefined;
    for (const each of statements.names()) statements.delete(each);
    return true;
  }

  discard(): void {
    this.deallocate(undefined);
    this.#release(["new", "kept"]);
    this.end();
  }

  /** Stops the statement that runs, as a cancel request asks. */
  cancel(): void {
    this.#answers.stop(
      new OperatingError("cancelled", "Cannot finish the query: its client cancelled it", {
        details: { sqlstate: "57014" },
      }),
    );
  }

  /** Ends the statement of a session that is stopping, and with it the session. */
  cut(): void {
    this.#answers.stop(serverStops());
  }

  /** Ends the session, once its statement has ended. */
  stop(): void {
    this.#isStopping = true;
    if (this.#isWaiting) {
      void this.#endWith(stopped()).finally(() => this.#parts.connection.close());
    }
  }

  /** Serves until the client leaves, or breaks the protocol. Never rejects. */
  async run(): Promise<void> {
    const { reader, writer } = this.#parts;
    try {
      for (;;) {
        if (!reader.hasMessage) {
          await this.#answers.rest();
          if (this.#isStopping) throw stopped();
          this.#isWaiting = true;
          await reader.some();
        }
        const message = await reader.next();
        this.#isWaiting = false;
        if (message === undefined || message.code === "X") return;
        await this.#take(message);
        if (writer.isFull) await writer.flush();
      }
    } catch (error) {
      await this.#endWith(error);
    } finally {
      await this.#answers.giveBackPlanned();
      await this.#dropPortals();
      this.kept[Symbol.dispose]();
    }
  }

  /** Tells the client why, as far as it still listens. */
  async #endWith(error: unknown): Promise<void> {
    const { writer } = this.#parts;
    if (!isOperatingError(error)) {
      getLogger(["svc", "query"]).debug("a PostgreSQL session ended: {error}", {
        error: messageOf(error),
      });
      return;
    }
    writer.error({ ...errorFields(error), severity: "FATAL" });
    await writer.flush().catch(() => {});
  }

  async #take({ code, body }: Message): Promise<void> {
    if (code === "S") return await this.#sync();
    if (this.#isSkipping && code !== "Q") return;
    if (code === "Q") return await this.#simpleQuery(new MessageFields(body, "Query"));
    const handler = PgSession.#extended[code];
    if (handler === undefined) {
      throw pgError("08P01", `Cannot read a message of type ${JSON.stringify(code)}`);
    }
    try {
      await handler(this, body);
    } catch (error) {
      const text = this.#textOfFailure(code, body);
      this.#fail(error, text === undefined ? undefined : { text, at: 0 });
      this.#isSkipping = true;
      // A client that asked with Flush sends its Sync when it has seen the error.
      await this.#parts.writer.flush();
    }
  }

  /** The statement that an error is about, to point into. */
  #textOfFailure(code: string, body: Uint8Array): string | undefined {
    try {
      const fields = new MessageFields(body, "");
      if (code === "P") {
        fields.text();
        return fields.text();
      }
      if (code === "E") return this.kept.portals.get(fields.text())?.statement.text;
      if (code === "D" && fields.byte() === STATEMENT) {
        return this.kept.statements.get(fields.text())?.text;
      }
    } catch { /* What cannot be read has no statement. */ }
    return undefined;
  }

  #fail(error: unknown, part: PartOfQuery | undefined): void {
    if (isFatal(error) || error instanceof ConnectionLost) throw error;
    if (!isOperatingError(error)) {
      getLogger(["svc", "query"]).error("a PostgreSQL session met a bug: {error}", { error });
    }
    this.#parts.writer.error(errorFields(error, part));
    if (this.#transaction === "open") this.#transaction = "failed";
  }

  async #sync(): Promise<void> {
    this.#isSkipping = false;
    await this.#ready();
  }

  async #ready(): Promise<void> {
    const { writer } = this.#parts;
    if (this.#transaction !== "open") await this.#endPortals();
    this.#reportSettings();
    writer.readyForQuery(STATUS[this.#transaction]);
    await writer.flush();
  }

  #reportSettings(): void {
    for (const [name, value] of this.settings.takeChanges()) {
      this.#parts.writer.parameterStatus(name, value);
    }
  }

  /** No transaction is open, or it has failed. */
  async #endPortals(): Promise<void> {
    if (this.#transaction === "failed") this.#release(["new"]);
    for (const name of this.kept.portals.names()) {
      const portal = this.kept.portals.get(name);
      if (portal?.held === undefined) await this.dropPortal(name);
      else portal.held = "kept";
    }
  }

  async #dropPortals(): Promise<void> {
    for (const name of this.kept.portals.names()) await this.dropPortal(name);
  }

  async dropPortal(name: string): Promise<void> {
    await this.kept.portals.delete(name)?.answer?.[Symbol.asyncDispose]();
  }

  async #simpleQuery(fields: MessageFields): Promise<void> {
    const { writer } = this.#parts;
    this.#isSkipping = false;
    let failing: PartOfQuery | undefined;
    try {
      const text = fields.text();
      fields.end();
      const statements = splitStatements(text);
      if (statements.length > STATEMENTS_PER_QUERY_MAX) {
        throw pgError(
          "54000",
          `Cannot run more than ${STATEMENTS_PER_QUERY_MAX} statements at once`,
        );
      }
      this.kept.statements.delete("");
      await this.dropPortal("");
      if (statements.length === 0) writer.plain("I");
      for (const statement of statements) {
        failing = statement;
        await this.#simpleStatement(statement.text);
      }
    } catch (error) {
      this.#fail(error, failing);
    }
    await this.#ready();
  }

  /** `given`: types of parameters; absent: there are none. Errors: the planner's, of commands. */
  async #prepare(text: string, given?: readonly number[]): Promise<Prepared> {
    const command = parseSqlCommand(withoutComments(text));
    if (command !== undefined) return await plannedCommand(this, command, { text, given });
    return await this.prepareQuery(text, given);
  }

  async prepareQuery(text: string, given?: readonly number[]): Promise<Prepared> {
    const needed = given === undefined ? refuseParameters(text) : parametersNeeded(text, given);
    return { text, plan: await this.#answers.plan(text, this), given: given ?? [], needed };
  }

  check(statement: Prepared): Promise<void> {
    return this.#answers.check(statement);
  }

  /** Types of a statement's parameters. */
  typesOf(statement: Prepared): Promise<readonly number[]> {
    return this.#answers.typesOf(statement);
  }

  async #simpleStatement(text: string): Promise<void> {
    const statement = await this.#prepare(text);
    this.#checkTransaction(statement);
    const portal: Portal = { statement, parameters: statement.fixed ?? [], formats: [] };
    try {
      await this.#answers.describePortal(portal, { hasNoData: false });
      await this.#answers.execute(portal, 0);
    } finally {
      await portal.answer?.[Symbol.asyncDispose]();
    }
  }

  #checkTransaction({ plan }: Prepared): void {
    if (this.#transaction !== "failed") return;
    if (plan.kind === "done" && plan.allowedInFailed === true) return;
    throw pgError(
      "25P02",
      "Cannot run the statement: the transaction has failed, and nothing runs up to its ROLLBACK",
    );
  }

  async #parse(fields: MessageFields): Promise<void> {
    const name = fields.text();
    const text = fields.text();
    const given = Array.from({ length: fields.uint16() }, () => fields.uint32());
    fields.end();
    if (splitStatements(text).length > 1) {
      throw pgError("42601", "Cannot prepare more than one statement at once");
    }
    const prepared = await this.#prepare(text, given);
    this.#checkTransaction(prepared);
    this.kept.addStatement(name, prepared);
    this.#parts.writer.plain("1");
  }

  async #bind(fields: MessageFields): Promise<void> {
    const name = fields.text();
    const statement = this.kept.statement(fields.text());
    const formats = formatsOf(fields);
    const sent = sentValues(fields);
    const wanted = formatsOf(fields);
    fields.end();
    this.#checkTransaction(statement);
    const parameters = await boundValues(this, statement, { formats, sent });
    await this.dropPortal(name);
    const bytes = sent.reduce((sum, value) => sum + (value?.byteLength ?? 0), 0);
    this.kept.portals.set(
      name,
      { statement, parameters, formats: wanted, isUnnamed: name === "" },
      4 * bytes + 8 * wanted.length,
    );
    this.#parts.writer.plain("2");
  }

  async #describe(fields: MessageFields): Promise<void> {
    const kind = fields.byte();
    const name = fields.text();
    fields.end();
    if (kind === STATEMENT) {
      const statement = this.kept.statement(name);
      this.#checkTransaction(statement);
      return await this.#answers.describeStatement(statement);
    }
    if (kind !== PORTAL) throw fields.violation("neither S nor P");
    const portal = this.kept.portal(name);
    this.#checkTransaction(portal.statement);
    await this.#answers.describePortal(portal, { hasNoData: true });
  }

  async #execute(fields: MessageFields): Promise<void> {
    const name = fields.text();
    const rowsMax = fields.int32();
    fields.end();
    const portal = this.kept.portal(name);
    this.#checkTransaction(portal.statement);
    await this.#answers.execute(portal, Math.max(rowsMax, 0));
  }

  async #close(fields: MessageFields): Promise<void> {
    const kind = fields.byte();
    const name = fields.text();
    fields.end();
    if (kind === STATEMENT) this.kept.statements.delete(name);
    else if (kind === PORTAL) await this.dropPortal(name);
    else throw fields.violation("neither S nor P");
    this.#parts.writer.plain("3");
  }
}

const STATEMENT = 0x53;
const PORTAL = 0x50;

/** Whoever is not known any more has no session. */
function isFatal(error: unknown): boolean {
  return isOperatingError(error, "unauthenticated") || isOperatingError(error, "permission_denied");
}

function stopped(): OperatingError {
  return new OperatingError("unavailable", "Cannot go on: this server is stopping", {
    details: { sqlstate: "57P01" },
  });
}
