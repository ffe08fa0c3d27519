/** Who a coordinator is, how a server greets it, and what is told of the peers. */

import { timingSafeEqual } from "node:crypto";
import { bearerTokenOf, tokenDigest } from "../../shared/auth/bearer_tokens.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import { jsonResponse } from "../../shared/http/error_response.ts";
import { readJsonText } from "../json_body.ts";
import { SQL_BODY_BYTES_MAX } from "../limits.ts";
import type { QueryCaller } from "../query_caller.ts";
import { noPeers } from "../sql/no_peers.ts";
import type { SqlService } from "../sql/sql_service.ts";
import type { Greeting } from "./peer_state.ts";
import type { Peers } from "./peers.ts";
import { answerShard } from "./shard_route.ts";

/** What the routes for other servers are given. */
export interface PeerDesk {
  readonly greeting: Greeting;
  /** Undefined: this server has no peers. */
  readonly peers: Peers | undefined;
  /** SHA-256 of the coordinators' token; undefined: there is none. */
  readonly tokenDigest: Uint8Array | undefined;
  /** Whether anybody may be a coordinator: an open server with peers, and without a token. */
  readonly isOpen: boolean;
}

interface PeerService extends SqlService {
  readonly desk?: PeerDesk;
}

/** Whether a request brings the coordinators' token. */
export function isCoordinator(
  { headers }: Pick<Request, "headers">,
  { desk }: { readonly desk?: PeerDesk },
): boolean {
  const digest = desk?.tokenDigest;
  const authorization = headers.get("authorization");
  if (digest === undefined || authorization === null) return false;
  try {
    return timingSafeEqual(tokenDigest(bearerTokenOf(authorization)), digest);
  } catch {
    return false; // What is no token is judged as any caller's.
  }
}

/** A shard for another server. `caller` is absent for a coordinator. */
export async function takeShard(
  request: Request,
  service: PeerService,
  caller?: QueryCaller,
): Promise<Response> {
  await admitCoordinator(request, service, { caller, what: "run a shard" });
  return await answerShard(request, service, caller);
}

/** Says who this server is. */
export async function greet(
  request: Request,
  service: PeerService,
  caller?: QueryCaller,
): Promise<Response> {
  const desk = await admitCoordinator(request, service, { caller, what: "greet a server" });
  return jsonResponse(desk.greeting);
}

/** Lists the peers; a caller who is one of many tenants is not told. */
export function listPeers(service: PeerService, caller: QueryCaller): Promise<Response> {
  const { desk } = service;
  if (caller.isOneOfMany === true) {
    throw new OperatingError(
      "permission_denied",
      "Cannot list the peers: they are the whole server's, and this caller is one of its tenants",
    );
  }
  const report = desk?.peers?.report() ?? { peers: [], lookup_error: null };
  return Promise.resolve(jsonResponse({ self: desk?.greeting ?? null, ...report }));
}

async function admitCoordinator(
  request: Request,
  { desk }: PeerService,
  { caller, what }: { readonly caller: QueryCaller | undefined; readonly what: string },
): Promise<PeerDesk> {
  if (desk !== undefined && (caller === undefined || desk.isOpen)) return desk;
  // What is wrong with the body itself is told first, as everywhere.
  if (request.method === "POST") await readJsonText(request, { bytesMax: SQL_BODY_BYTES_MAX });
  if (desk?.peers === undefined) throw noPeers(what, "send statements to /api/v1/sql");
  throw new OperatingError(
    "permission_denied",
    `Cannot ${what}: that is for servers that have this one's --coordinator-token`,
    { reason: "not_a_coordinator" },
  );
}
