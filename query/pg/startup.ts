/**
 * What comes before a session: TLS, the startup packet, the password. Source:
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP
 */

import type { SecureContext } from "node:tls";
import { OperatingError } from "../../shared/base/errors.ts";
import type { CallerGate } from "../query_caller.ts";
import { PASSWORD_BYTES_MAX, STARTUP_BYTES_MAX } from "./limits.ts";
import { SessionCaller } from "./session/session_caller.ts";
import { pgError } from "./sqlstate.ts";
import { MessageFields } from "./wire/message_fields.ts";
import type { MessageReader } from "./wire/message_reader.ts";
import type { MessageWriter } from "./wire/message_writer.ts";
import { type Socket, tlsTransport, type Transport } from "./wire/transport.ts";

/** Codes that stand where a version would. */
const SSL_REQUEST = 80_877_103;
const GSS_REQUEST = 80_877_104;
const CANCEL_REQUEST = 80_877_102;
/** The first byte of a TLS handshake. */
const TLS_HANDSHAKE = 0x16;
const MAJOR = 3;
const MINOR_MAX = 2;
/** TLS and GSSAPI may each be asked for once. */
const NEGOTIATIONS_MAX = 2;

/** What a client asked for. */
export type Startup =
  | { readonly kind: "cancel"; readonly processId: number; readonly secret: Uint8Array }
  | {
    readonly kind: "session";
    readonly parameters: ReadonlyMap<string, string>;
    /** The minor version that is spoken. */
    readonly minor: number;
  };

interface StartupParts {
  readonly conn: Socket;
  readonly reader: MessageReader;
  readonly writer: MessageWriter;
  /** Undefined: there is no TLS here. */
  readonly context: SecureContext | undefined;
  /** Told of the transport that the connection has from here on. */
  readonly onTransport: (transport: Transport) => void;
  /** Told how to end a TLS handshake that has begun. */
  readonly onHandshake: (close: () => void) => void;
}

/** Reads up to the startup packet; undefined: the client left. Errors: what it did wrong. */
export async function readStartup(parts: StartupParts): Promise<Startup | undefined> {
  const { reader } = parts;
  let isTls = false;
  if (await reader.peek() === TLS_HANDSHAKE) {
    await upgrade(parts, { needsAlpn: true });
    isTls = true;
  }
  for (let asked = 0;; asked += 1) {
    const packet = await reader.packet(STARTUP_BYTES_MAX);
    if (packet === undefined) return undefined;
    const fields = new MessageFields(packet, "startup");
    const code = fields.uint32();
    if (code === CANCEL_REQUEST) {
      return { kind: "cancel", processId: fields.uint32(), secret: fields.rest() };
    }
    if (code !== SSL_REQUEST && code !== GSS_REQUEST) return session(parts, code, fields);
    if (asked >= NEGOTIATIONS_MAX || (code === SSL_REQUEST && isTls)) {
      throw fields.violation("encryption asked for again");
    }
    if (code === SSL_REQUEST && parts.context !== undefined) {
      await parts.writer.sendByte("S");
      await upgrade(parts, { needsAlpn: false });
      isTls = true;
    } else {
      await parts.writer.sendByte("N");
    }
  }
}

async function upgrade(
  { conn, context, reader, writer, onTransport, onHandshake }: StartupParts,
  { needsAlpn }: { readonly needsAlpn: boolean },
): Promise<void> {
  const seen = reader.takeRest();
  if (context === undefined) throw pgError("08P01", "Cannot speak TLS: this server has none");
  // Bytes sent with the request would be read as if they had come by TLS.
  if (!needsAlpn && seen.byteLength > 0) {
    throw pgError("08P01", "Cannot begin TLS: the client sent more before it had the answer");
  }
  const transport = await tlsTransport(conn, { context, seen, needsAlpn, onBegun: onHandshake });
  onTransport(transport);
  reader.upgrade(transport);
  writer.upgrade(transport);
}

/** Reads the parameters, and tells a client of a later version which is spoken. */
function session({ writer }: StartupParts, version: number, fields: MessageFields): Startup {
  const [major, asked] = [version >>> 16, version & 0xffff];
  if (major !== MAJOR) {
    throw pgError(
      "0A000",
      `Cannot speak version ${major}.${asked} of the protocol: it is 3.0 or 3.2`,
    );
  }
  const parameters = new Map<string, string>();
  for (let name = fields.text(); name !== ""; name = fields.text()) {
    parameters.set(name, fields.text());
  }
  fields.end();
  const unknown = [...parameters.keys()].filter((name) => name.startsWith("_pq_."));
  // Nobody speaks 3.1, which was never released.
  const minor = asked >= MINOR_MAX ? MINOR_MAX : 0;
  if (minor !== asked || unknown.length > 0) {
    writer.negotiateProtocolVersion(MAJOR << 16 | minor, unknown);
  }
  for (const name of unknown) parameters.delete(name);
  return { kind: "session", parameters, minor };
}

/** Finds out who the client is. Errors: those of the gate; SQLSTATE 28000 without TLS. */
export async function authenticate(
  { gate, isOpen, peer, isTls, reader, writer }: {
    readonly gate: CallerGate;
    /** Nobody has to say who they are. */
    readonly isOpen: boolean;
    readonly peer: string;
    readonly isTls: boolean;
    readonly reader: MessageReader;
    readonly writer: MessageWriter;
  },
): Promise<SessionCaller> {
  let token: string | undefined;
  if (!isOpen) {
    if (!isTls && !isLoopback(peer)) {
      throw pgError("28000", "Cannot take a token without TLS from another machine", {
        code: "unauthenticated",
        hint: "Connect with sslmode=require; the server needs --tls-cert and --tls-key.",
      });
    }
    writer.authenticationCleartextPassword();
    await writer.flush();
    const message = await reader.next(PASSWORD_BYTES_MAX);
    if (message?.code !== "p") {
      throw new OperatingError("unauthenticated", "Cannot begin a session without a password", {
        details: { sqlstate: "28P01", hint: "Give a token of this server as the password." },
      });
    }
    token = new MessageFields(message.body, "password").text();
    if (/[^\x21-\x7e]/.test(token)) {
      throw pgError("28P01", "Cannot take the password: it is no token", {
        code: "unauthenticated",
      });
    }
  }
  const caller = new SessionCaller(gate, { peer, token });
  await caller.admit();
  writer.authenticationOk();
  return caller;
}

function isLoopback(peer: string): boolean {
  return peer === "::1" || /^(?:::ffff:)?127\./.test(peer);
}
