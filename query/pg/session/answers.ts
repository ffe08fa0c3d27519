/** What a session sends for its statements: descriptions, rows, tags. */

import type { ByteBudget } from "../../../shared/base/byte_budget.ts";
import { OperatingError } from "../../../shared/base/errors.ts";
import type { Parameters, ResultColumn } from "../../../shared/engine/types.ts";
import { SUSPENDED_PORTALS_MAX } from "../limits.ts";
import type { PgPlan, PgPlanner, PgSessionView, PgSettings } from "../pg_plan.ts";
import { pgError } from "../sqlstate.ts";
import { BINARY_FORMAT, type Format, TEXT_FORMAT } from "../types/formats.ts";
import { cellBytes } from "../types/cells_at_hand.ts";
import { columnTypeOf, INTERVAL_STYLES, type TypeContext } from "../types/column_type.ts";
import { OID } from "../types/oids.ts";
import { nullOfType, sampleOfType } from "../types/parameters.ts";
import { CopyTextEncoder } from "../wire/copy_text.ts";
import { RowEncoder } from "../wire/data_rows.ts";
import type { MessageReader } from "../wire/message_reader.ts";
import type { MessageWriter } from "../wire/message_writer.ts";
import { type PackedRowEncoder, packedRowEncoder } from "../wire/packed_rows.ts";
import { parseCopy } from "./copy_statement.ts";
import {
  type AnsweredRows,
  type AskedStatement,
  describeInEngine,
  EngineAnswer,
  type PgCallService,
} from "./engine_answer.ts";
import { oidCasts } from "./bound_values.ts";
import type { Portal, Prepared, SessionPlan, SessionStatements } from "./prepared_statements.ts";
import type { SessionCaller } from "./session_caller.ts";
import { withoutComments } from "./split_statements.ts";
import { onlyForward } from "./sql_commands.ts";
import { columnsAtHand, refuseOtherColumns, toldColumns } from "./told_columns.ts";

/** What sessions need of the server. */
export interface SessionService extends PgCallService {
  readonly planner: PgPlanner;
  /** What statements and portals of all sessions hold, beside answers over HTTP. */
  readonly answers: ByteBudget;
}

interface AnswersParts {
  readonly service: SessionService;
  readonly caller: SessionCaller;
  readonly reader: MessageReader;
  readonly writer: MessageWriter;
  readonly settings: PgSettings;
}

/** A plan that the engine answers. */
type EnginePlan = Extract<PgPlan, { readonly kind: "engine" }>;
type RowsPlan = Extract<PgPlan, { readonly kind: "rows" }>;
type CopyPlan = Extract<SessionPlan, { readonly kind: "copy" }>;
export type DeclarePlan = Extract<SessionPlan, { readonly kind: "declare" }>;
type FetchPlan = Extract<SessionPlan, { readonly kind: "fetch" }>;

/** How rows are sent: those of a portal itself, or of one that a FETCH names. */
interface Sending {
  readonly max: number;
  readonly formats: readonly Format[];
  /** Ends the rows that were asked for; `isMore`: more may follow. */
  readonly end: (sent: number, isMore: boolean) => void;
}

/**
 * The first bytes of a binary copy: signature, flags, length of an extension. They share a message
 * with what comes next, as PostgreSQL's do: `tokio-postgres` expects a row behind them.
 */
const COPY_SIGNATURE = Uint8Array.from([
  ...new TextEncoder().encode("PGCOPY\n"),
  ...[0xff, 0x0d, 0x0a, 0x00],
  ...[0, 0, 0, 0, 0, 0, 0, 0],
]);
const COPY_END = Uint8Array.of(0xff, 0xff);
/** The code of a Bind. A client that sends it behind a Describe asks for rows next. */
const BIND = "B";

export class SessionAnswers {
  /** Stops what runs in the engine now. */
  #stopCurrent: ((reason: OperatingError) => void) | undefined;
  /** Planned to describe a statement that is to run at once. */
  #planned: { readonly statement: Prepared; readonly answer: EngineAnswer } | undefined;

  constructor(
    private readonly parts: AnswersParts,
    private readonly session: {
      readonly kept: SessionStatements;
      /** Adds the portal of a DECLARE. */
      declare(plan: DeclarePlan, portal: Portal): void;
    },
  ) {}

  /** What is to be done for a statement. Errors: the planner's, those of `parseCopy`. */
  async plan(text: string, session: PgSessionView): Promise<SessionPlan> {
    const { planner } = this.parts.service;
    const copy = parseCopy(withoutComments(text));
    if (copy === undefined) return await planner.plan(text, session);
    const inner = await planner.plan(copy.sql, session);
    if (inner.kind === "engine") {
      // All rows go out, and whoever wants them in order says so: a sort holds them all.
      const besides = { ...inner.besides, defaultOrder: "limited" as const };
      return { kind: "copy", inner: { ...inner, besides }, options: copy.options };
    }
    throw pgError("0A000", "Cannot copy the answer of this statement: write COPY (SELECT …)");
  }

  /** Stops what the session runs now. */
  stop(reason: OperatingError): void {
    this.#stopCurrent?.(reason);
  }

  /** Called before the session waits for its client: what was only planned is given back. */
  async rest(): Promise<void> {
    for (const portal of this.session.kept.portals.values()) {
      const { answer } = portal;
      if (answer?.isRunning === true && !answer.isOver) answer.pause();
    }
    await this.giveBackPlanned();
  }

  /** Each answer that was planned and not run holds a slot of the engine. */
  async giveBackPlanned(): Promise<void> {
    const planned = this.#planned;
    this.#planned = undefined;
    await planned?.answer[Symbol.asyncDispose]();
    for (const portal of this.session.kept.portals.values()) {
      const { answer } = portal;
      if (answer === undefined || answer.isOver || answer.isRunning) continue;
      delete portal.answer;
      await answer[Symbol.asyncDispose]();
    }
  }

  /** Types of a statement's parameters: the client's, else what the engine infers, else text. */
  async typesOf(statement: Prepared): Promise<readonly number[]> {
    if (statement.oids !== undefined) return statement.oids;
    const { plan, given, fixed } = statement;
    if (fixed !== undefined) return [];
    const engine = "inner" in plan ? plan.inner : plan;
    if (engine.kind !== "engine" || !engine.sql.includes("$")) return statement.oids = given;
    const types = await this.#describing(
      engine,
      [],
      (asked) =>
        describeInEngine(
          this.parts.service,
          asked,
          (call, request, limits) => call.parameterTypes(request, limits),
        ),
    );
    const count = Math.max(given.length, ...[...types.keys()].map(Number).filter(Number.isInteger));
    const casts = oidCasts(engine.sql);
    return statement.oids = Array.from({ length: count }, (_, at) => {
      const told = types.get(String(at + 1));
      const known = given[at] ?? 0;
      if (known !== 0 && known !== OID.unknown) return known;
      if (told === null || told === undefined) return OID.text;
      return casts.get(at + 1) ?? columnTypeOf(told, engine).oid;
    });
  }

  /** What is wrong with a statement is told now, not when it runs. */
  async check(statement: Prepared): Promise<void> {
    const { plan } = statement;
    if (plan.kind === "engine") await this.#columnsTold(statement, plan);
  }

  /** Asks the engine once, which plans the statement with NULLs as its values. */
  async #columnsTold(statement: Prepared, plan: EnginePlan): Promise<readonly ResultColumn[]> {
    const oids = await this.typesOf(statement);
    if (statement.columns !== undefined) return statement.columns;
    if (oids.length === 0 && this.parts.reader.nextCode === BIND) {
      const answer = await this.#plan(plan, statement.fixed ?? []);
      this.#planned = { statement, answer };
      return statement.columns = answer.columns;
    }
    let described: readonly ResultColumn[];
    try {
      described = await this.#describedWith(plan, statement.fixed ?? oids.map(nullOfType));
    } catch (error) {
      // Some functions take no NULL, for example as the quantile that is asked for.
      const sampled = isRefusal(error) && oids.length > 0
        ? await this.#describedWithSamples(plan, oids)
        : undefined;
      if (sampled === undefined) throw error;
      return statement.columns = sampled;
    }
    if (oids.length === 0 || !described.some(isPerhapsNull)) return statement.columns = described;
    const sampled = await this.#describedWithSamples(plan, oids);
    return statement.columns = described.map((column, at) =>
      isPerhapsNull(column) ? sampled?.[at] ?? column : column
    );
  }

  #describedWith(plan: EnginePlan, parameters: Parameters): Promise<readonly ResultColumn[]> {
    const { service } = this.parts;
    return this.#describing(
      plan,
      parameters,
      (asked) =>
        describeInEngine(service, asked, (call, request, limits) => call.describe(request, limits)),
    );
  }

  /** Nothing where the statement takes no such values, for example as the name of a unit. */
  async #describedWithSamples(
    plan: EnginePlan,
    oids: readonly number[],
  ): Promise<readonly ResultColumn[] | undefined> {
    try {
      return await this.#describedWith(plan, oids.map((oid) => sampleOfType(oid)));
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
  }

  async describeStatement(statement: Prepared): Promise<void> {
    const { writer } = this.parts;
    const oids = await this.typesOf(statement);
    const { plan } = statement;
    const columns = plan.kind === "engine" ? await this.#columnsTold(statement, plan) : [];
    writer.parameterDescription(oids);
    if (plan.kind === "engine") {
      writer.rowDescription(toldColumns(this.#contextOf(plan), columns, []));
    } else if (plan.kind === "rows") {
      writer.rowDescription(columnsAtHand(plan, []));
    } else if (plan.kind === "fetch") {
      await this.#describeFetched(plan, []);
    } else {
      writer.plain("n");
    }
  }

  /** `hasNoData`: whether that there are no rows is told, too. */
  async describePortal(portal: Portal, { hasNoData }: { readonly hasNoData: boolean }) {
    const { plan } = portal.statement;
    if (plan.kind === "fetch") await this.#describeFetched(plan, portal.formats);
    else await this.#describeRows(portal, portal.formats, { hasNoData });
  }

  /** The columns of a portal's own rows. */
  async #describeRows(
    portal: Portal,
    formats: readonly Format[],
    { hasNoData }: { readonly hasNoData: boolean },
  ): Promise<void> {
    const { writer } = this.parts;
    const { plan } = portal.statement;
    if (plan.kind === "engine") {
      const answer = await this.#prepared(portal, plan);
      writer.rowDescription(this.#columnsOf({ ...portal, formats }, plan, answer));
      portal.isDescribed = true;
    } else if (plan.kind === "rows") {
      writer.rowDescription(columnsAtHand(plan, formats));
    } else if (hasNoData) {
      writer.plain("n");
    }
  }

  /** Does what the portal is for; at most `rowsMax` rows are sent, 0: all. */
  async execute(portal: Portal, rowsMax: number): Promise<void> {
    const { writer } = this.parts;
    const { plan } = portal.statement;
    const max = rowsMax === 0 ? Infinity : rowsMax;
    switch (plan.kind) {
      case "empty":
        return writer.plain("I");
      case "done": {
        const { tag = plan.tag, notices = [] } = await plan.apply();
        for (const notice of notices) writer.notice(notice);
        return writer.commandComplete(tag);
      }
      case "rows":
      case "engine":
        return await this.#sendAll(portal, portal.formats, max);
      case "copy":
        return await this.#copy(portal, plan);
      case "declare":
        this.session.declare(plan, portal);
        return writer.commandComplete("DECLARE CURSOR");
      case "fetch":
        return await this.#fetch(portal, plan, max);
    }
  }

  /** Rows of a portal; that there may be more is told by PortalSuspended. */
  async #sendAll(portal: Portal, formats: readonly Format[], max: number): Promise<void> {
    const { writer } = this.parts;
    const { plan } = portal.statement;
    const end = (sent: number, isMore: boolean) => {
      if (isMore) return writer.plain("s");
      const tag = "tag" in plan ? plan.tag : undefined;
      writer.commandComplete(
        plan.kind === "rows" && tag !== undefined ? tag : `${tag ?? "SELECT"} ${sent}`,
      );
    };
    await this.#send(portal, { max, formats, end });
  }

  async #fetch(portal: Portal, { name, rows }: FetchPlan, max: number): Promise<void> {
    const { writer } = this.parts;
    const target = this.session.kept.portal(name);
    const left = portal.left ?? rows;
    // FETCH 0 is the row that the cursor is at, again. Before all rows, GDAL asks so for columns.
    if (rows === 0 && target.isBegun === true) throw onlyForward();
    const end = (sent: number, isMore: boolean) => {
      portal.left = left - sent;
      if (isMore && portal.left > 0) writer.plain("s");
      else writer.commandComplete(`FETCH ${sent}`);
    };
    if (left === 0) return end(0, false);
    const formats = formatsOf(target, portal.formats);
    await this.#send(target, { max: Math.min(max, left), formats, end });
  }

  async #describeFetched({ name }: FetchPlan, formats: readonly Format[]): Promise<void> {
    const target = this.session.kept.portal(name);
    await this.#describeRows(target, formatsOf(target, formats), { hasNoData: true });
  }

  async #send(portal: Portal, sending: Sending): Promise<void> {
    const { plan } = portal.statement;
    if (plan.kind === "engine") await this.#sendRows(portal, plan, sending);
    else if (plan.kind === "rows") await this.#sendRowsAtHand(portal, plan, sending);
    else throw pgError("34000", "Cannot fetch from a portal that has no rows");
  }

  async #sendRows(
    portal: Portal,
    plan: EnginePlan,
    { max, formats, end }: Sending,
  ): Promise<void> {
    if (portal.isDone === true) return end(0, false);
    const answer = await this.#prepared(portal, plan);
    if (portal.isDescribed !== true) refuseOtherColumns(portal.statement, answer);
    this.#checkSuspended(answer);
    const columns = this.#columnsOf({ ...portal, formats }, plan, answer);
    const encoder = new RowEncoder(columns);
    const packed = portal.isUnnamed === true
      ? packedRowEncoder(columns, answer.columns, { isCopy: false })
      : undefined;
    let sent = 0;
    await this.#running(answer, async () => {
      while (sent < max) {
        const rows = await answer.next(max - sent, packed?.shape);
        if (rows === undefined) break;
        sent += rows.to - rows.from;
        await this.#sendRowsOf(rows, { encoder, packed, answer });
      }
    });
    const isMore = sent >= max;
    if (!isMore) portal.isDone = true;
    if (sent > 0) portal.isBegun = true;
    end(sent, isMore);
  }

  async #copy(portal: Portal, { inner, options }: CopyPlan): Promise<void> {
    const { writer } = this.parts;
    const answer = await this.#prepared(portal, inner);
    const isBinary = options.format === "binary";
    const format = isBinary ? BINARY_FORMAT : TEXT_FORMAT;
    const columns = toldColumns(this.#contextOf(inner), answer.columns, [format]);
    const encoder = options.format === "binary"
      ? new RowEncoder(columns, { isCopy: true })
      : new CopyTextEncoder(columns, options);
    const packed = packedRowEncoder(columns, answer.columns, { isCopy: true });
    let sent = 0;
    await this.#running(answer, async () => {
      // What fails before the first row is told instead of an answer.
      let rows = await answer.next(Infinity, packed?.shape);
      writer.copyOutResponse(isBinary, columns.length);
      if (options.format !== "binary" && options.hasHeader && encoder instanceof CopyTextEncoder) {
        await writer.send(encoder.header());
      }
      for (; rows !== undefined; rows = await answer.next(Infinity, packed?.shape)) {
        const lead = isBinary && sent === 0 ? COPY_SIGNATURE : undefined;
        sent += rows.to - rows.from;
        await this.#sendRowsOf(rows, { encoder, packed, answer, lead });
      }
    });
    if (isBinary) writer.copyData(...sent === 0 ? [COPY_SIGNATURE, COPY_END] : [COPY_END]);
    writer.plain("c");
    writer.commandComplete(`COPY ${sent}`);
  }

  async #sendRowsAtHand(
    portal: Portal,
    plan: RowsPlan,
    { max, formats, end }: Sending,
  ): Promise<void> {
    const { writer } = this.parts;
    const columns = columnsAtHand(plan, formats);
    portal.rows ??= [...await plan.rows(Object.values(portal.parameters))];
    const rows = portal.rows.splice(0, Math.min(max, portal.rows.length));
    for (const row of rows) {
      writer.dataRow(
        columns.map(({ type: { oid }, format }, at) => cellBytes(row[at] ?? null, { oid, format })),
      );
      if (writer.isFull) await writer.flush();
    }
    if (rows.length > 0) portal.isBegun = true;
    end(rows.length, rows.length >= max);
  }

  async #prepared(portal: Portal, plan: EnginePlan): Promise<EngineAnswer> {
    if (portal.answer !== undefined) return portal.answer;
    if (this.#planned?.statement !== portal.statement) {
      return portal.answer = await this.#plan(plan, portal.parameters);
    }
    const { answer } = this.#planned;
    this.#planned = undefined;
    return portal.answer = answer;
  }

  async #plan(plan: EnginePlan, parameters: Parameters): Promise<EngineAnswer> {
    await this.giveBackPlanned();
    const asked = await this.#asked(plan, parameters);
    return await this.#watched(() =>
      EngineAnswer.prepare(this.parts.service, asked, (stop) => this.#stopCurrent = stop)
    );
  }

  async #describing<T>(
    plan: EnginePlan,
    parameters: Parameters,
    describe: (asked: AskedStatement) => Promise<T>,
  ): Promise<T> {
    const asked = await this.#asked(plan, parameters);
    return await this.#watched(() => describe(asked));
  }

  async #asked({ sql, besides = {} }: EnginePlan, parameters: Parameters): Promise<AskedStatement> {
    const { caller, settings } = this.parts;
    return {
      caller: await caller.admit(),
      sql,
      parameters,
      besides,
      timeoutMs: settings.statementTimeoutMs,
      application: settings.applicationName,
    };
  }

  #running(answer: EngineAnswer, work: () => Promise<void>): Promise<void> {
    this.#stopCurrent = (reason) => answer.stop(reason);
    return this.#watched(work);
  }

  /** A client that leaves stops what runs for it. */
  async #watched<T>(work: () => Promise<T>): Promise<T> {
    using _watching = this.parts.reader.watch(() => this.stop(clientLeft()));
    try {
      return await work();
    } finally {
      this.#stopCurrent = undefined;
    }
  }

  /** A client that takes nothing for long is given up. */
  async #sendRowsOf(
    { message, isPacked, from, to }: AnsweredRows,
    { encoder, packed, answer, lead }: {
      readonly encoder: RowEncoder | CopyTextEncoder;
      readonly packed: PackedRowEncoder | undefined;
      readonly answer: EngineAnswer;
      /** What stands before the first row of a copy, in its message. */
      readonly lead?: Uint8Array | undefined;
    },
  ): Promise<void> {
    const { writer } = this.parts;
    const isCompleted = isPacked && packed !== undefined;
    const messages = (isCompleted ? packed : encoder).encode(message, from, to);
    answer.pause();
    const isLed = lead !== undefined && messages.byteLength > 0;
    await writer.send(isLed ? writer.leadCopyData(lead, messages) : messages);
  }

  #contextOf({ isOfCatalog }: EnginePlan): TypeContext {
    const style = this.parts.settings.get("IntervalStyle");
    return { isOfCatalog, intervalStyle: INTERVAL_STYLES.find((known) => known === style) };
  }

  #columnsOf({ statement, formats }: Portal, plan: EnginePlan, { columns }: EngineAnswer) {
    return toldColumns(this.#contextOf(plan), columns, formats, statement.columns);
  }

  #checkSuspended(answer: EngineAnswer): void {
    const others = [...this.session.kept.portals.values()].filter((portal) =>
      portal.answer !== answer && portal.answer?.isRunning === true && !portal.answer.isOver
    );
    if (others.length < SUSPENDED_PORTALS_MAX) return;
    throw pgError(
      "53000",
      `Cannot keep more than ${SUSPENDED_PORTALS_MAX} portals whose rows are not all fetched`,
      { hint: "Fetch their rest, or close them." },
    );
  }
}

/** A FETCH may name other formats than those of the cursor. */
function formatsOf(target: Portal, formats: readonly Format[]): readonly Format[] {
  return formats.length > 0 ? formats : target.formats;
}

/** DuckDB makes NULL of what it computes from a constant NULL, and tells INTEGER as its type. */
function isPerhapsNull({ type }: ResultColumn): boolean {
  return type === "INTEGER";
}

/** Whether the statement is at fault. */
function isRefusal(error: unknown): boolean {
  return error instanceof OperatingError && error.code === "invalid_argument";
}

function clientLeft(): OperatingError {
  return new OperatingError("cancelled", "The client closed the connection");
}
