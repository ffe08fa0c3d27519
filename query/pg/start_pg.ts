/** PostgreSQL's protocol for a query server that starts, where `--pg-listen` asks for it. */

import { getLogger } from "@logtape/logtape";
import type { ByteBudget } from "../../shared/base/byte_budget.ts";
import type { Settings } from "../../shared/config/options.ts";
import type { ConnectionBounds } from "../../shared/http/connection_counts.ts";
import { listenerMeter } from "../../shared/http/connection_metrics.ts";
import {
  formatListenAddress,
  type ListenAddress,
  parseListenAddress,
} from "../../shared/http/listen_address.ts";
import type { TlsIdentity } from "../../shared/http/listener.ts";
import type { QueryMetrics } from "../metrics/metrics.ts";
import type { CallerGate } from "../query_caller.ts";
import { PG_PLANNER } from "../pg_catalog/planner.ts";
import type { CallService } from "../sql/sql_call.ts";
import { NO_PG_LISTENER, type PG_OPTIONS } from "./pg_flags.ts";
import { startPgServer } from "./pg_server.ts";

interface PgSettingsOfServer extends Settings<typeof PG_OPTIONS> {
  readonly maxRows: number;
  readonly streamStallSecs: number;
}

/**
 * Says where it listens; undefined: it is off. Errors: `invalid_argument` for the address; those of
 * the listener.
 */
export function startPg(
  settings: PgSettingsOfServer,
  { starting, calls, gate, isOpen, answers, tls, metrics, bounds }: {
    /** Ends it. */
    readonly starting: AsyncDisposableStack;
    readonly calls: CallService;
    readonly gate: CallerGate;
    readonly isOpen: boolean;
    readonly answers: ByteBudget;
    readonly tls: TlsIdentity | undefined;
    readonly metrics: QueryMetrics;
    readonly bounds: ConnectionBounds;
  },
): { readonly pgAddress: ListenAddress } | undefined {
  if (settings.pgListen === NO_PG_LISTENER) return undefined;
  const server = starting.use(startPgServer({
    ...parseListenAddress(settings.pgListen, "--pg-listen"),
    service: {
      ...calls,
      planner: PG_PLANNER,
      rowsCeiling: settings.maxRows,
      stallMsMax: 1_000 * settings.streamStallSecs,
      answers,
    },
    ...{ gate, isOpen, tls },
    sessionsMax: settings.pgMaxSessions,
    sessionsPerAddressMax: bounds.connectionsPerAddressMax,
    meter: listenerMeter(metrics, "pg"),
  }));
  getLogger(["svc", "query"]).info("PostgreSQL's protocol is spoken on {address}", {
    address: formatListenAddress(server.address),
  });
  return { pgAddress: server.address };
}
