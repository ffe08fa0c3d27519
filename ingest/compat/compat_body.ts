/** Bodies of requests that bring no rows: one JSON object, short beside those that do. */

import { isUtf8 } from "node:buffer";
import { textOf } from "../../shared/base/bytes.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import { readBody } from "../../shared/http/body.ts";
import type { ByteBudget } from "../../shared/base/byte_budget.ts";
import { boundsFault } from "../../shared/document/json_bounds.ts";
import { requireJsonType } from "./compat_media_type.ts";
import { LIMITS } from "../flags.ts";
import { isJsonObject, type JsonObject } from "../../shared/document/json_object.ts";

/** The largest templates of Beats have 2 MB. */
const OBJECT_BYTES_MAX = 4 * 1024 * 1024;
/** Such templates have 60,000 members. */
const BOUNDS = { depthMax: 200, valuesMax: 200_000 } as const;

/**
 * The object in the body of `request`; undefined for no body. Errors: those of `readBody`,
 * `unsupported_media_type`, and `invalid_argument` for anything else than an object.
 */
export async function readObject(
  request: Request,
  { tenant, bodies, what }: { tenant: string; bodies: ByteBudget; what: string },
): Promise<JsonObject | undefined> {
  using hold = bodies.hold(tenant);
  hold.grow(LIMITS.requestBytes);
  const bytes = await readBody(request, { bytesMax: OBJECT_BYTES_MAX, hold });
  if (bytes.byteLength === 0) return undefined;
  requireJsonType(request.headers.get("content-type"), what);
  if (!isUtf8(bytes)) throw refusal(what, "it is not UTF-8");
  const text = textOf(bytes);
  const fault = boundsFault(text, BOUNDS);
  if (fault !== undefined) throw refusal(what, `it ${fault}`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw refusal(what, (cause as Error).message);
  }
  if (isJsonObject(parsed)) return parsed;
  throw refusal(what, "it is no JSON object");
}

function refusal(what: string, why: string): OperatingError {
  return new OperatingError("invalid_argument", `Cannot read ${what}: ${why}`, {
    reason: "malformed_body",
  });
}
