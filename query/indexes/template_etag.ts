/** The tag of an index template; apart from its rules, which a browser loads as well. */

import { createHash } from "node:crypto";
import type { IndexTemplate } from "../../shared/schema/index_template.ts";

/** The ETag of a template: a hash of its JSON text, the same for the same template. */
export function templateEtag(template: IndexTemplate): string {
  return createHash("sha256").update(JSON.stringify(template)).digest("base64url");
}
