/**
 * All HTTP routes of the ingest server, over what they write to: the server listens with it, the
 * fuzzers call it.
 */

import type { TableShape } from "../shared/schema/table_shape.ts";
import type { LaneId } from "../shared/tenant/tenant.ts";
import { SystemRandom } from "../shared/os/random.ts";
import type { Admission } from "./admission.ts";
import { createBulkRoute } from "./bulk/bulk_route.ts";
import { createDocumentRoute } from "./bulk/document_route.ts";
import { EventDocumentBuilders } from "./bulk/document_builders.ts";
import { ClientObjects } from "./compat/client_objects.ts";
import { compatRoutes } from "./compat/compat_routes.ts";
import { bulkBodyBytesMax, type IngestSettings, OPTIONS } from "./flags.ts";
import { IdleNotes } from "./idle_notes.ts";
import { LOGS } from "./otlp/otlp_logs.ts";
import { createOtlpRoute, type OtlpDeps } from "./otlp/otlp_route.ts";
import { TRACES } from "./otlp/otlp_traces.ts";
import { type Connection, createHandler, ingestRoutes } from "./routes.ts";
import type { StreamHub } from "./stream/stream_hub.ts";
import { createStreamRoute } from "./stream/stream_route.ts";

export interface HttpHandlerDeps {
  readonly writes: OtlpDeps;
  /** For routes that bring no rows. */
  readonly admission: Pick<Admission, "admit" | "identify">;
  readonly stream: StreamHub;
  readonly readyz: () => Response;
  /** What documents of a lane's table must be. */
  readonly shapeOf: (lane: LaneId) => TableShape;
  /** Whether the lane has rows or its table is there. */
  readonly hasIndex: (lane: LaneId) => boolean;
}

/** The handler of the HTTP listener, with all its routes. */
export function createHttpHandler(
  settings: IngestSettings,
  { writes, admission, stream, readyz, shapeOf, hasIndex }: HttpHandlerDeps,
): (request: Request, connection: Connection) => Promise<Response> {
  const { metrics, clock } = writes;
  const routes = ingestRoutes({
    logs: createOtlpRoute(LOGS, writes),
    traces: createOtlpRoute(TRACES, writes),
    stream: createStreamRoute({ admission, hub: stream }),
    readyz,
  });
  const bulkBytesMax = bulkBodyBytesMax(settings);
  const documents = {
    ...writes,
    bodyCap: {
      bytesMax: bulkBytesMax,
      option: `--${OPTIONS.ingestMaxBulkBodyBytes.flag}`,
    },
    random: new SystemRandom(),
    builders: new EventDocumentBuilders(shapeOf),
  };
  const findOther = compatRoutes({
    bulk: createBulkRoute(documents),
    document: createDocumentRoute(documents),
    admission,
    version: settings.esCompatVersion,
    isAtRoot: settings.compatAtRoot,
    queryUrl: settings.queryUrl,
    bodyBytesMax: bulkBytesMax,
    objects: new ClientObjects(),
    notes: new IdleNotes(),
    bodies: writes.bodies,
    clock,
    hasIndex,
  });
  return createHandler(routes, { metrics, clock, findOther });
}
