/**
 * A query server of two tenants with little memory and little time, and canaries. Canaries are rows
 * of the other tenant in the table and in the WAL, files inside and outside of what DuckDB may
 * open, and the environment.
 *
 * The caller's namespace is what the header `x-tenant` says: who a token belongs to is tested
 * elsewhere.
 */

import { OPTIONS, type QueryServer, startQuery } from "../../query/mod.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { tenantOf } from "../../shared/tenant/tenant.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";

/** In no answer, whatever is asked. */
export const CANARY = "canary-7f31c0de";
export const OTHER = "tenant_q9x4";
/** Threads of its DuckDB. */
export const THREADS = 2;
const START_NS = 1_790_000_000_000_000_000n;

export interface HostileAnswer {
  readonly status: number;
  readonly text: string;
  /** The stable reason, `harmless` for 200, `truncated` for rows that were cut. */
  readonly verdict: string;
}

export class HostileLab implements AsyncDisposable {
  private constructor(
    private readonly lab: WarehouseLab,
    private readonly server: QueryServer,
  ) {}

  get dir(): string {
    return this.lab.dir;
  }

  static async open(): Promise<HostileLab> {
    const lab = await WarehouseLab.open({ wal: true });
    const row = (n: number, raw: string) => ({ ns: START_NS + BigInt(n), host: `h${n % 3}`, raw });
    await lab.commit(Array.from({ length: 40 }, (_, n) => row(n, `mine ${n}`)));
    await lab.append([row(41, "mine 41")]);
    for (const name of ["events", "secrets"]) {
      const rows = [row(1, CANARY)].map(({ ns, host, raw }) => ({
        ...{ timestamp: ns / 1_000n, timestamp_ns: ns, host, source: CANARY, sourcetype: "t" },
        ...{ index: "main", raw, attributes: `{"canary":"${CANARY}"}` },
      }));
      await lab.commitRows(rows, { ident: { namespace: OTHER, name }, schema: EVENTS_SCHEMA });
      await lab.append([row(2, CANARY)], { tenant: tenantOf(OTHER), index: name });
    }
    const files = ["canary.txt", "warehouse/canary.csv", "warehouse/canary.json"];
    for (const name of files) {
      await Deno.writeTextFile(`${lab.dir}/${name}`, `{"canary":"${CANARY}"}\n`);
    }
    await lab.files.mkdir(`${lab.dir}/query-cache`);
    const server = await startQuery(
      parseOptions(OPTIONS, [
        ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0"],
        ...["--data-dir", lab.dir, "--query-wal-buffer-dir", `${lab.dir}/wal`],
        ...["--threads", String(THREADS), "--query-hot-caches"],
        ...[
          "--memory-pool-bytes",
          String(128 * 2 ** 20),
          "--spill-max-bytes",
          String(64 * 2 ** 20),
        ],
      ]),
      {
        callers: {
          admit: (request) => {
            const namespace = request.headers.get("x-tenant") ?? "svc";
            return Promise.resolve({ namespace, tenant: tenantOf(namespace) });
          },
        },
      },
    );
    return new HostileLab(lab, server);
  }

  /** A statement as one would write it to attack this very server. */
  aimed(sql: string): string {
    return sql.replaceAll("$DIR", this.lab.dir).replaceAll("$OTHER", OTHER);
  }

  async ask(
    sql: string,
    { path = "/api/v1/sql", tenant = "svc", ...fields }: {
      readonly path?: string;
      readonly tenant?: string;
      readonly format?: string;
      readonly timeoutSeconds?: number;
    } = {},
  ): Promise<HostileAnswer> {
    const response = await fetch(`http://127.0.0.1:${this.server.address.port}${path}`, {
      method: "POST",
      headers: { "x-tenant": tenant, "content-type": "application/json" },
      body: JSON.stringify({
        query: sql,
        format: fields.format ?? "records",
        limits: { max_rows_returned: 2_000, timeout_seconds: fields.timeoutSeconds ?? 1 },
      }),
    });
    const text = await response.text();
    return { status: response.status, text, verdict: verdictOf(response.status, text) };
  }

  async healthy(): Promise<boolean> {
    const response = await fetch(`http://127.0.0.1:${this.server.address.port}/healthz`);
    await response.body?.cancel();
    return response.ok;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
    await this.lab[Symbol.asyncDispose]();
  }
}

function verdictOf(status: number, text: string): string {
  if (status === 200) return "harmless";
  const body = JSON.parse(text) as { readonly truncated?: boolean; readonly reason?: string };
  return body.truncated === true ? "truncated" : body.reason ?? `status ${status}`;
}
