/** A started ingest server on a data directory of its own, and what it stored: for tests only. */

import { join } from "node:path";
import { viewOf } from "../../shared/base/bytes.ts";
import { decodeBatch } from "../../shared/columns/ipc.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { BUILT_IN_TABLES } from "../../shared/schema/built_in_tables.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import type { LaneId } from "../../shared/tenant/tenant.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { openWalReader } from "../../shared/wal/reader.ts";
import { type IngestDeps, type IngestServer, OPTIONS, startIngest } from "../../ingest/mod.ts";

/** A stored row, as far as tests look at it. */
export interface StoredRow {
  readonly lane: string;
  readonly timestampNs: bigint;
  readonly columns: Readonly<Record<string, string | null>>;
}

export class RunningIngest implements AsyncDisposable {
  private constructor(readonly dataDir: string, readonly server: IngestServer) {}

  static async start(args: readonly string[] = [], deps: IngestDeps = {}): Promise<RunningIngest> {
    const dataDir = await Deno.makeTempDir({ prefix: "svc-ingest-" });
    const listeners = ["--bind", "--metrics-bind", "--otlp-grpc-listen"]
      .flatMap((flag) => [flag, "127.0.0.1:0"]);
    const settings = parseOptions(OPTIONS, ["--data-dir", dataDir, ...listeners, ...args]);
    try {
      return new RunningIngest(dataDir, await startIngest(settings, deps));
    } catch (error) {
      await Deno.remove(dataDir, { recursive: true });
      throw error;
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.address.port}`;
  }

  get metricsUrl(): string {
    return `http://127.0.0.1:${this.server.metricsAddress.port}/metrics`;
  }

  /** `host:port` of OTLP/gRPC. */
  get grpcTarget(): string {
    return `127.0.0.1:${this.server.otlpGrpcAddress?.port}`;
  }

  /** Posts to `path`, `/v1/logs` when not said otherwise. */
  post(
    body: BodyInit,
    options: { headers: HeadersInit; query?: string; path?: string },
  ): Promise<Response> {
    return fetch(`${this.url}${options.path ?? "/v1/logs"}${options.query ?? ""}`, {
      method: "POST",
      headers: options.headers,
      body,
    });
  }

  /** The value of one series of `/metrics`, NaN when there is none. */
  async metric(series: string): Promise<number> {
    const text = await (await fetch(this.metricsUrl)).text();
    const line = text.split("\n").find((line) => line.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1) ?? NaN);
  }

  rows(): Promise<StoredRow[]> {
    return storedRows(this.dataDir);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
    await Deno.remove(this.dataDir, { recursive: true });
  }
}

/** Every row of every lane, in the WAL's order, from segments that are active or sealed. */
export async function storedRows(dataDir: string): Promise<StoredRow[]> {
  const reader = openWalReader(new DenoFileSystem(), join(dataDir, "wal"));
  const rows: StoredRow[] = [];
  for (const lane of await reader.lanes()) {
    const segments = await reader.list(lane, ["active", "sealed"]);
    for (const name of new Set(segments.map((segment) => segment.name))) {
      await using segment = await reader.open(lane, name);
      for await (const frame of segment.frames()) {
        rows.push(...rowsOf(frame.message, lane));
      }
    }
  }
  return rows;
}

function rowsOf(message: Uint8Array, { tenant, index }: LaneId): StoredRow[] {
  const schema = BUILT_IN_TABLES.get(index) ?? EVENTS_SCHEMA;
  const batch = decodeBatch(message, schema);
  return Array.from({ length: batch.rows }, (_, row) => {
    const columns: Record<string, string | null> = {};
    let timestampNs = 0n;
    for (const [at, column] of schema.columns.entries()) {
      const data = batch.columns[at];
      if (data === undefined) continue;
      const { values, offsets, validity } = data;
      if (column.name === "timestamp_ns") {
        const view = viewOf(values);
        timestampNs = view.getBigInt64(8 * row, true);
      } else if (offsets !== null) {
        const isNull = validity !== null && ((validity[row >> 3] ?? 0) >> (row & 7) & 1) === 0;
        const text = new TextDecoder().decode(values.subarray(offsets[row], offsets[row + 1]));
        columns[column.name] = isNull ? null : text;
      }
    }
    return { lane: `${tenant}/${index}`, timestampNs, columns };
  });
}
