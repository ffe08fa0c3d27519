/**
 * The listener of PostgreSQL's protocol: connections, their startup within a deadline, their
 * sessions, cancel requests. What a session does is `session/session.ts`.
 */

import { timingSafeEqual } from "node:crypto";
import type { SecureContext } from "node:tls";
import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../../shared/base/errors.ts";
import type { ListenerMeter } from "../../shared/http/connection_metrics.ts";
import type { ListenAddress } from "../../shared/http/listen_address.ts";
import {
  type Accepted,
  type RunningListener,
  startListener,
  type TlsIdentity,
} from "../../shared/http/listener.ts";
import type { CallerGate, QueryCaller } from "../query_caller.ts";
import { CUT_MS_MAX, STARTUP_MS_MAX, STOP_MS_MAX } from "./limits.ts";
import type { SessionService } from "./session/answers.ts";
import { PgSession } from "./session/session.ts";
import { errorFields, pgError } from "./sqlstate.ts";
import { authenticate, readStartup } from "./startup.ts";
import { MessageReader } from "./wire/message_reader.ts";
import { MessageWriter } from "./wire/message_writer.ts";
import { PlainTransport, secureContext, type Socket, type Transport } from "./wire/transport.ts";

export interface PgServerOptions extends ListenAddress {
  readonly service: SessionService;
  readonly gate: CallerGate;
  /** Nobody has to say who they are. */
  readonly isOpen: boolean;
  readonly tls: TlsIdentity | undefined;
  readonly sessionsMax: number;
  readonly sessionsPerAddressMax: number;
  readonly meter?: ListenerMeter;
}

/** A server that listens. Disposing it ends its sessions. */
export interface PgServer extends AsyncDisposable {
  readonly address: ListenAddress;
}

/** Starts to listen. Errors: those of `startListener`. */
export function startPgServer(options: PgServerOptions): PgServer {
  return new Server(options);
}

/** Bytes of the secret of a cancel request: version 3.0 has room for four. */
const SECRET_BYTES = 32;
const SECRET_BYTES_OF_3_0 = 4;
const PROCESS_ID_MAX = 0x7fff_ffff;

interface Running {
  readonly session: PgSession;
  /** Hexadecimal digits: they take less than an array does. */
  readonly secret: string;
}

/** A connection, and what is read and written over it now. */
class Connection {
  transport: Transport;

  constructor(readonly conn: Socket) {
    this.transport = new PlainTransport(conn);
  }

  /** Ends it at once, whatever it is at. */
  close(): void {
    this.transport.close();
  }
}

class Server implements PgServer {
  readonly #options: PgServerOptions;
  readonly #context: SecureContext | undefined;
  readonly #listener: RunningListener;
  readonly #running = new Map<number, Running>();
  /** Also connections that have no session yet. */
  readonly #connections = new Map<Connection, Promise<void>>();
  #nextId = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  #isStopping = false;

  constructor(options: PgServerOptions) {
    const { hostname, port, tls, meter, sessionsMax, sessionsPerAddressMax } = options;
    this.#options = options;
    this.#context = tls === undefined ? undefined : secureContext(tls);
    this.#listener = startListener({
      ...{ hostname, port, option: "--pg-listen", alpnProtocols: [] },
      connectionsMax: sessionsMax,
      connectionsPerAddressMax: sessionsPerAddressMax,
      ...(meter === undefined ? {} : { meter }),
      serve: (accepted) => this.#serve(accepted),
      refuse: (conn) => void refuse(conn, sessionsMax),
    });
  }

  get address(): ListenAddress {
    return this.#listener.address;
  }

  /** Lets statements end, up to `STOP_MS_MAX`; the others are told why they do not. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    await this.#listener.close();
    for (const { session } of this.#running.values()) session.stop();
    await this.#ended(STOP_MS_MAX);
    for (const { session } of this.#running.values()) session.cut();
    await this.#ended(CUT_MS_MAX);
    for (const connection of this.#connections.keys()) connection.close();
    await Promise.all(this.#connections.values());
  }

  /** Waits until all connections have ended, up to `msMax`. */
  async #ended(msMax: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => timer = setTimeout(resolve, msMax));
    await Promise.race([Promise.all(this.#connections.values()), late]);
    clearTimeout(timer);
  }

  #serve({ conn, peer }: Accepted): Promise<void> {
    const connection = new Connection(conn);
    const served = this.#connection(connection, peer.hostname);
    this.#connections.set(connection, served);
    return served;
  }

  /** Never rejects. An idle session waits in it, so it holds nothing that only its begin needs. */
  async #connection(connection: Connection, peer: string): Promise<void> {
    try {
      const session = await this.#begun(connection, peer);
      if (session === undefined) return;
      try {
        await session.run();
      } finally {
        this.#running.delete(session.processId);
      }
    } catch (error) {
      log.error("a PostgreSQL connection met a bug: {error}", { error });
    } finally {
      connection.close();
      this.#connections.delete(connection);
    }
  }

  /** The session, once it has begun; undefined: the connection has none. */
  async #begun(connection: Connection, peer: string): Promise<PgSession | undefined> {
    const reader = new MessageReader(connection.transport);
    const writer = new MessageWriter(connection.transport, this.#options.service.stallMsMax);
    let endHandshake = () => {};
    const late = setTimeout(() => {
      endHandshake();
      connection.close();
    }, STARTUP_MS_MAX);
    try {
      return await this.#begin(connection, {
        ...{ peer, reader, writer },
        onHandshake: (close) => endHandshake = close,
      });
    } catch (error) {
      if (isOperatingError(error)) {
        writer.error({ ...errorFields(error), severity: "FATAL" });
        await writer.flush().catch(() => {});
      } else {
        log.debug("a PostgreSQL connection did not begin: {error}", { error: messageOf(error) });
      }
      return undefined;
    } finally {
      clearTimeout(late);
    }
  }

  /** Undefined: the connection has no session, since it was a cancel request or its client left. */
  async #begin(
    connection: Connection,
    { peer, reader, writer, onHandshake }: {
      readonly peer: string;
      readonly reader: MessageReader;
      readonly writer: MessageWriter;
      readonly onHandshake: (close: () => void) => void;
    },
  ): Promise<PgSession | undefined> {
    const { service, gate, isOpen } = this.#options;
    const startup = await readStartup({
      ...{ conn: connection.conn, reader, writer, onHandshake },
      onTransport: (transport) => connection.transport = transport,
      context: this.#context,
    });
    if (startup === undefined) return undefined;
    if (startup.kind === "cancel") return void this.#cancel(startup);
    const { isTls } = connection.transport;
    const caller = await authenticate({ gate, isOpen, peer, isTls, reader, writer });
    this.#requireRoom(caller.known);
    const { parameters, minor } = startup;
    const settings = service.planner.settings(parameters);
    const user = parameters.get("user") ?? "";
    const processId = this.#freeId();
    const secret = crypto.getRandomValues(
      new Uint8Array(minor === 0 ? SECRET_BYTES_OF_3_0 : SECRET_BYTES),
    );
    const session = new PgSession({
      ...{ service, caller, reader, writer, connection, settings, user, processId },
      database: parameters.get("database") ?? user,
    });
    this.#running.set(processId, { session, secret: secret.toHex() });
    for (const [name, value] of settings.reported()) writer.parameterStatus(name, value);
    writer.backendKeyData(processId, secret);
    writer.readyForQuery("I");
    if (this.#isStopping) session.stop();
    await writer.flush().catch(() => {});
    return session;
  }

  /** One of many tenants gets at most half of the sessions that the others leave. */
  #requireRoom({ tenant, isOneOfMany = false }: QueryCaller): void {
    if (!isOneOfMany) return;
    const all = [...this.#running.values()];
    const own = all.filter(({ session }) => session.caller.tenant === tenant).length;
    const part = Math.floor((this.#options.sessionsMax - (all.length - own)) / 2);
    if (own < Math.max(part, 1)) return;
    throw pgError("53300", `Cannot begin a session: this tenant has ${own} open already`, {
      hint: "Close some; other tenants keep room for theirs.",
    });
  }

  /** A client that guesses learns nothing: there is no answer. */
  #cancel(
    { processId, secret }: { readonly processId: number; readonly secret: Uint8Array },
  ): void {
    const running = this.#running.get(processId);
    if (running === undefined) return;
    const wanted = Uint8Array.fromHex(running.secret);
    if (wanted.byteLength !== secret.byteLength) return;
    if (timingSafeEqual(wanted, secret)) running.session.cancel();
  }

  #freeId(): number {
    do this.#nextId = this.#nextId % PROCESS_ID_MAX + 1; while (this.#running.has(this.#nextId));
    return this.#nextId;
  }
}

const log = getLogger(["svc", "query"]);

/** Tells a client that there is no room, without waiting for what it asks. */
async function refuse(conn: Socket, sessionsMax: number): Promise<void> {
  const transport = new PlainTransport(conn);
  const writer = new MessageWriter(transport, REFUSAL_MS_MAX);
  const error = pgError("53300", `Cannot begin a session: ${sessionsMax} are open already`, {
    hint: "Close some, or raise --pg-max-sessions.",
  });
  writer.error({ ...errorFields(error), severity: "FATAL" });
  await writer.flush().catch(() => {});
  transport.close();
}

const REFUSAL_MS_MAX = 1_000;
