/** What was acknowledged and has no effect, logged once for each: its sender may count on it. */

import { getLogger } from "@logtape/logtape";

export interface IdleObject {
  readonly tenant: string;
  /** "index template". */
  readonly title: string;
  readonly name: string;
}

/**
 * Distinct objects that the log names; of further ones it says nothing, as senders choose their
 * names.
 */
export const NOTES_MAX = 200;

export class IdleNotes {
  readonly #say: (object: IdleObject) => void;
  readonly #told = new Set<string>();

  constructor(say: (object: IdleObject) => void = warn) {
    this.#say = say;
  }

  tell(object: IdleObject): void {
    const key = `${object.tenant}\n${object.title}\n${object.name}`;
    if (this.#told.has(key) || this.#told.size >= NOTES_MAX) return;
    this.#told.add(key);
    this.#say(object);
  }
}

function warn({ tenant, title, name }: IdleObject): void {
  getLogger(["svc", "ingest"]).warn(
    "acknowledged {title} {name} of tenant {tenant}, which changes nothing here: indexes are configured at " +
      "the query server's /api/v1/indexes and /api/v1/index-templates",
    { title, name, tenant },
  );
}
