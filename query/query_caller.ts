/** On whose behalf a statement runs: what it may read, and who is told of in the audit. */

export interface QueryCaller {
  /** Tenant whose WAL lanes are read, and for whom admission takes turns. */
  readonly tenant: string;
  /** The only namespace whose tables the caller's statements can name. */
  readonly namespace: string;
  /** `sub` and `email` of a verified token; static tokens identify nobody. */
  readonly subject?: string;
  readonly email?: string;
}

/** Resolves a request to its caller. Errors: `unauthenticated`, `permission_denied`, `rate_limited`, `unavailable`. */
export interface CallerGate {
  admit(request: Request): Promise<QueryCaller>;
}
