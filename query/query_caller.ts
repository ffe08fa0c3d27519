/** On whose behalf a statement runs: what it may read, and whom the audit names. */

/** A caller that passed the access check. */
export interface QueryCaller {
  /** Tenant whose WAL lanes are read, and whose statements admission keeps in one order. */
  readonly tenant: string;
  /** The only namespace whose tables the caller's statements can name. */
  readonly namespace: string;
  /**
   * A claim chose the tenant, so there are others: this caller is not told of the whole server.
   */
  readonly isOneOfMany?: boolean;
  /** `sub` and `email` of a verified token; static tokens identify nobody. */
  readonly subject?: string;
  readonly email?: string;
  /** When its token ends, Unix milliseconds; absent: it does not. */
  readonly expiresMs?: number;
}

/** Address of the connection's other end; asked for only where it is needed. */
export type Peer = () => string;

/**
 * Resolves a request to its caller by its head alone: the body is not touched. Errors:
 * `unauthenticated`, `permission_denied`, `rate_limited`, `unavailable` (the issuer is away).
 */
export interface CallerGate {
  admit(request: Pick<Request, "headers">, peer: Peer): Promise<QueryCaller>;
}
