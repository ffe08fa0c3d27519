/**
 * `POST …/_bulk`: NDJSON actions and documents, as search-engine clients send them, decoded while
 * they arrive.
 */

import { drainBody } from "../../shared/http/body.ts";
import { streamBody } from "../../shared/http/body_stream.ts";
import { compatJson, compatRefused } from "../compat/compat_reply.ts";
import { bulkReplyText } from "./bulk_reply.ts";
import { decodeBulk } from "./bulk_request.ts";
import { replyFieldsOf } from "./filter_path.ts";
import {
  type BulkDeps,
  type DocumentsForm,
  type DocumentsTarget,
  writeDocuments,
} from "./write_documents.ts";

/** The route's handler. It answers its own errors. */
export function createBulkRoute(
  deps: BulkDeps,
): (request: Request, target: DocumentsTarget) => Promise<Response> {
  return async (request, target) => {
    const startMs = deps.clock.monotonicMs();
    try {
      using written = await writeDocuments(request, BULK_FORM, { target, deps });
      const tookMs = Math.round(deps.clock.monotonicMs() - startMs);
      const fields = replyFieldsOf(parameterOf(target.query, "filter_path"));
      const { items } = written;
      return compatJson(request, await bulkReplyText({ tookMs, items }, fields));
    } catch (thrown) {
      await drainBody(request);
      return compatRefused(request, thrown);
    }
  };
}

const BULK_FORM: DocumentsForm = {
  what: "a bulk request",
  decode: (request, { limits, see, options }) =>
    decodeBulk(tapped(streamBody(request, limits), see), options),
};

async function* tapped(
  body: AsyncIterable<Uint8Array>,
  see: (piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const piece of body) {
    see(piece);
    yield piece;
  }
}

function parameterOf(query: string, name: string): string | null {
  return query.includes(name) ? new URLSearchParams(query).get(name) : null;
}
