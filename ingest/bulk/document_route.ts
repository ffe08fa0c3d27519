/**
 * One document a request: `POST /{index}/_doc`, `PUT` or `POST /{index}/_doc/{id}` and
 * `/{index}/_create/{id}`. It is stored as a bulk request of that one action is, and answered with
 * its item's status.
 */

import { isUtf8 } from "node:buffer";
import { present } from "../../shared/base/assert.ts";
import { textOf } from "../../shared/base/bytes.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import { drainBody, readBody } from "../../shared/http/body.ts";
import { compatFault, compatJson, compatRefused } from "../compat/compat_reply.ts";
import { LINE_BYTES_MAX, NOT_UTF8, tooLong } from "./body_lines.ts";
import type { BulkItem } from "./bulk_items.ts";
import { decodeDocument } from "./bulk_request.ts";
import {
  type BulkDeps,
  type DecodeParts,
  type DocumentsTarget,
  writeDocuments,
} from "./write_documents.ts";

export interface DocumentTarget extends DocumentsTarget {
  readonly action: "index" | "create";
  /** Undefined: it is given one. */
  readonly id: string | undefined;
}

/** The route's handler. It answers its own errors. */
export function createDocumentRoute(
  deps: BulkDeps,
): (request: Request, target: DocumentTarget) => Promise<Response> {
  return async (request, target) => {
    try {
      const form = {
        what: "a document",
        decode: (request: Request, parts: DecodeParts) => decode(request, { target, parts }),
      };
      using written = await writeDocuments(request, form, { target, deps });
      return reply(request, present(written.items[0]));
    } catch (thrown) {
      await drainBody(request);
      return compatRefused(request, thrown);
    }
  };
}

async function decode(
  request: Request,
  { target, parts }: { target: DocumentTarget; parts: DecodeParts },
) {
  const { limits, see, options } = parts;
  const body = await readBody(request, limits);
  see(body);
  if (body.byteLength === 0) {
    throw new OperatingError("invalid_argument", "request body is required: send the document", {
      reason: "empty_body",
    });
  }
  const text = body.byteLength > LINE_BYTES_MAX
    ? tooLong(body.byteLength)
    : isUtf8(body)
    ? textOf(body)
    : NOT_UTF8;
  const { action, id } = target;
  return decodeDocument(text, { action, index: target.pathIndex, id }, options);
}

/** Every document is new: ids do not make rows unique. */
const CREATED = '"_version":1,"result":"created",' +
  '"_shards":{"total":1,"successful":1,"failed":0},"_seq_no":0,"_primary_term":1';

function reply(request: Request, { index, id, error }: BulkItem): Response {
  if (error !== undefined) {
    // There is one document, and lines say nothing of where in it.
    return compatFault(request, { ...error, reason: error.reason.replace(/^Line 1: /, "") });
  }
  const names = `"_index":${JSON.stringify(index)},"_id":${JSON.stringify(id)}`;
  const response = compatJson(request, `{${names},${CREATED}}`, 201);
  response.headers.set("location", `/${index}/_doc/${encodeURIComponent(id.toWellFormed())}`);
  return response;
}
