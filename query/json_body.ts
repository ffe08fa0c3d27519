/** A request body as JSON. */

import { textOf } from "../shared/base/bytes.ts";
import { messageOf, OperatingError } from "../shared/base/errors.ts";
import { readBody } from "../shared/http/body.ts";

const BODY_BYTES_MAX = 1024 * 1024;

/** Errors: `too_large`; `invalid_argument` for what is no JSON. */
export async function readJson(request: Request): Promise<unknown> {
  const body = await readBody(request, { bytesMax: BODY_BYTES_MAX });
  try {
    return JSON.parse(textOf(body));
  } catch (cause) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot read the request body as JSON: ${messageOf(cause)}`,
      { reason: "invalid_body", cause },
    );
  }
}
