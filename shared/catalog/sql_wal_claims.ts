/**
 * `WalClaims` for both databases; the table is in `sqlite_schema.ts`. Each change is one statement,
 * or a few in one transaction. Statements that change several rows do it in order of their names,
 * so that two of them wait for each other and do not deadlock.
 */

import { laneName } from "../tenant/tenant.ts";
import { consumedAmong, segmentRows } from "./consumed_runs.ts";
import {
  integerOfRow,
  sql,
  type SqlDatabase,
  textOfRow,
  type Transaction,
} from "./sql_database.ts";
import { hasRunOut, type SqlDialect } from "./sql_dialect.ts";
import type {
  ClaimGrant,
  ClaimRequest,
  ClaimState,
  QuarantinedSegment,
  ReleaseOptions,
  WalClaims,
} from "./wal_claims.ts";

const RAN_OUT = "claims ended without a commit or a word: the drains that took it were stopped, " +
  "or ran out of time or memory";

export class SqlWalClaims implements WalClaims {
  readonly #database: SqlDatabase;
  readonly #dialect: SqlDialect;

  /** Closes `database` with it. */
  constructor(database: SqlDatabase, dialect: SqlDialect) {
    this.#database = database;
    this.#dialect = dialect;
  }

  claim(request: ClaimRequest): Promise<ClaimGrant> {
    const { segments, token } = request;
    if (segments.length === 0) return Promise.resolve({ granted: [], quarantined: [] });
    const dialect = this.#dialect;
    const { nowMs, texts } = dialect;
    const names = JSON.stringify([...segments].sort());
    const consumed = consumedAmong(dialect, 6);
    return this.#database.transaction("claim WAL segments", function* () {
      const quarantined = yield sql(
        `UPDATE svc_wal_claims SET quarantined_ms = ${nowMs()}, claimant = NULL, token = NULL, ` +
          "reason = COALESCE(reason, attempts || $3) WHERE attempts >= $2 " +
          `AND ${hasRunOut(dialect, "expires_ms")} AND quarantined_ms IS NULL ` +
          `AND segment_id IN (SELECT value FROM ${texts(1)}) RETURNING segment_id`,
        [names, request.attemptsMax, ` ${RAN_OUT}`],
      );
      const granted = yield sql(
        "INSERT INTO svc_wal_claims (segment_id, lane, claimant, token, expires_ms, attempts) " +
          `SELECT value, $2, $3, $4, ${nowMs()} + CAST($5 AS BIGINT), 1 FROM ${texts(1)} ` +
          `WHERE value NOT IN (${consumed}) ` +
          "ORDER BY value ON CONFLICT (segment_id) DO UPDATE SET claimant = excluded.claimant, " +
          "token = excluded.token, expires_ms = excluded.expires_ms, " +
          "attempts = svc_wal_claims.attempts + 1 WHERE svc_wal_claims.quarantined_ms IS NULL " +
          `AND ${hasRunOut(dialect, "svc_wal_claims.expires_ms")} RETURNING segment_id`,
        [
          ...[names, laneName(request.lane), request.claimant, token, request.leaseMs],
          segmentRows(segments),
        ],
      );
      return { granted: namesOf(granted), quarantined: namesOf(quarantined) };
    });
  }

  renew(token: string, leaseMs: number): Promise<readonly string[]> {
    const { nowMs } = this.#dialect;
    return this.#database.transaction("renew a claim", function* () {
      return namesOf(
        yield sql(
          `UPDATE svc_wal_claims SET expires_ms = ${nowMs()} + CAST($2 AS BIGINT) ` +
            `WHERE token = $1 AND expires_ms > ${nowMs()} RETURNING segment_id`,
          [token, leaseMs],
        ),
      );
    });
  }

  release(token: string, options: ReleaseOptions): Promise<readonly string[]> {
    return this.#database.transaction("release a claim", () => this.#release(token, options));
  }

  *#release(
    token: string,
    { reason, attemptsMax }: ReleaseOptions,
  ): Transaction<readonly string[]> {
    yield sql(
      "DELETE FROM svc_wal_claims WHERE token = $1 " +
        "AND segment_id IN (SELECT segment_id FROM svc_wal_consumed)",
      [token],
    );
    if (reason === undefined) {
      yield sql("DELETE FROM svc_wal_claims WHERE token = $1 AND attempts <= 1", [token]);
      yield sql(
        "UPDATE svc_wal_claims SET claimant = NULL, token = NULL, expires_ms = 0, " +
          "attempts = attempts - 1 WHERE token = $1",
        [token],
      );
      return [];
    }
    const released = yield sql(
      "UPDATE svc_wal_claims SET claimant = NULL, token = NULL, expires_ms = 0, reason = $2, " +
        `quarantined_ms = CASE WHEN attempts >= $3 THEN ${this.#dialect.nowMs()} END ` +
        "WHERE token = $1 RETURNING segment_id, quarantined_ms",
      [token, reason, attemptsMax],
    );
    return namesOf(released.filter((row) => row["quarantined_ms"] !== null));
  }

  quarantine(token: string, segment: string, reason: string): Promise<boolean> {
    const { nowMs } = this.#dialect;
    return this.#database.transaction("quarantine a WAL segment", function* () {
      const rows = yield sql(
        `UPDATE svc_wal_claims SET quarantined_ms = ${nowMs()}, reason = $3, claimant = NULL, ` +
          "token = NULL, expires_ms = 0 WHERE token = $1 AND segment_id = $2 RETURNING segment_id",
        [token, segment, reason],
      );
      return rows.length > 0;
    });
  }

  discard(token: string, segments: readonly string[]): Promise<boolean> {
    const { nowMs, texts } = this.#dialect;
    const names = JSON.stringify([...segments].sort());
    return this.#database.transaction("discard WAL segments", function* () {
      // One statement for both, so that none is recorded unless all are held.
      const held = yield sql(
        "INSERT INTO svc_wal_consumed (segment_id, table_uuid, snapshot_id) " +
          `SELECT value, '', 0 FROM ${texts(2)} WHERE CAST($3 AS INTEGER) = ` +
          "(SELECT count(*) FROM svc_wal_claims WHERE token = $1 " +
          `AND expires_ms > ${nowMs()} AND segment_id IN (SELECT value FROM ${texts(2)})) ` +
          "ORDER BY value ON CONFLICT DO NOTHING RETURNING segment_id",
        [token, names, segments.length],
      );
      if (held.length === 0) return false;
      yield sql(
        "DELETE FROM svc_wal_claims WHERE token = $1 " +
          `AND segment_id IN (SELECT value FROM ${texts(2)})`,
        [token, names],
      );
      return true;
    });
  }

  states(segments: readonly string[]): Promise<ReadonlyMap<string, ClaimState>> {
    if (segments.length === 0) return Promise.resolve(new Map());
    const { texts } = this.#dialect;
    const hasEnded = hasRunOut(this.#dialect, "expires_ms");
    return this.#database.transaction("read claims", function* () {
      const rows = yield sql(
        "SELECT segment_id, attempts, " +
          `CASE WHEN ${hasEnded} THEN 0 ELSE 1 END AS held, ` +
          "CASE WHEN quarantined_ms IS NULL THEN 0 ELSE 1 END AS quarantined " +
          `FROM svc_wal_claims WHERE segment_id IN (SELECT value FROM ${texts(1)})`,
        [JSON.stringify(segments)],
      );
      return new Map(rows.map((row) => [textOfRow(row, "segment_id"), {
        attempts: integerOfRow(row, "attempts"),
        isHeld: integerOfRow(row, "held") === 1,
        isQuarantined: integerOfRow(row, "quarantined") === 1,
      }]));
    });
  }

  quarantined(
    max: number,
  ): Promise<{ count: number; segments: readonly QuarantinedSegment[] }> {
    return this.#database.transaction("list quarantined WAL segments", function* () {
      const [counted] = yield sql(
        "SELECT count(*) AS n FROM svc_wal_claims WHERE quarantined_ms IS NOT NULL",
      );
      const rows = yield sql(
        "SELECT lane, segment_id, reason, attempts, quarantined_ms FROM svc_wal_claims " +
          "WHERE quarantined_ms IS NOT NULL ORDER BY quarantined_ms, segment_id LIMIT $1",
        [max],
      );
      return {
        count: counted === undefined ? 0 : integerOfRow(counted, "n"),
        segments: rows.map((row) => ({
          lane: textOfRow(row, "lane"),
          segment: textOfRow(row, "segment_id"),
          reason: textOfRow(row, "reason"),
          attempts: integerOfRow(row, "attempts"),
          quarantinedMs: integerOfRow(row, "quarantined_ms"),
        })),
      };
    });
  }

  requeue(segments?: readonly string[]): Promise<readonly string[]> {
    const { texts } = this.#dialect;
    return this.#database.transaction("requeue WAL segments", function* () {
      const ofThose = segments === undefined
        ? ""
        : ` AND segment_id IN (SELECT value FROM ${texts(1)})`;
      return namesOf(
        yield sql(
          `DELETE FROM svc_wal_claims WHERE quarantined_ms IS NOT NULL${ofThose} ` +
            "RETURNING segment_id",
          segments === undefined ? [] : [JSON.stringify(segments)],
        ),
      );
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database[Symbol.asyncDispose]();
  }
}

function namesOf(rows: readonly Readonly<Record<string, unknown>>[]): string[] {
  return rows.map((row) => textOfRow(row, "segment_id")).sort();
}
