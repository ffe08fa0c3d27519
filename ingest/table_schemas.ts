/**
 * The columns of tables that documents are checked against, from the catalog: read at the start, then every few seconds,
 * so that no request waits for it.
 *
 * A table that the catalog does not tell of has the columns of `events`: it is made so at its first drain. While the
 * catalog does not answer, what was read last stands; a row whose columns the table has left behind is fitted, or set
 * aside, by the drain.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../shared/base/errors.ts";
import type { CatalogReader } from "../shared/catalog/catalog.ts";
import { EVENTS_SCHEMA } from "../shared/event/events.ts";
import type { TableSchema } from "../shared/event/schema.ts";
import { type LaneId, tableOf } from "../shared/event/tenant.ts";
import type { Clock } from "../shared/os/clock.ts";

const INTERVAL_MS = 5_000;

/** By table, then by the schema's text. */
type Known = ReadonlyMap<string, { readonly text: string; readonly schema: TableSchema }>;

export class TableSchemas {
  readonly #catalog: Pick<CatalogReader, "namespaces" | "tableSchemas">;
  readonly #clock: Clock;
  readonly #stopping = new AbortController();
  #known: Known = new Map();
  #isFailing = false;
  #running: Promise<void> = Promise.resolve();

  constructor(
    catalog: Pick<CatalogReader, "namespaces" | "tableSchemas">,
    { clock }: { clock: Clock },
  ) {
    this.#catalog = catalog;
    this.#clock = clock;
  }

  /** Reads once, then at intervals until `stop`. */
  async start(): Promise<void> {
    await this.#refresh();
    this.#running = this.#loop();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** The same object as long as the columns stay the same. */
  schemaOf(lane: LaneId): TableSchema {
    const { namespace, name } = tableOf(lane);
    return this.#known.get(keyOf(namespace, name))?.schema ?? EVENTS_SCHEMA;
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#clock.sleep(INTERVAL_MS, { signal });
      } catch {
        return;
      }
      await this.#refresh();
    }
  }

  async #refresh(): Promise<void> {
    try {
      this.#known = await this.#read();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) {
        getLogger(["svc", "ingest"]).warn(
          "cannot read the columns of tables, those known before stand: {error}",
          { error: messageOf(error) },
        );
      }
      this.#isFailing = true;
    }
  }

  async #read(): Promise<Known> {
    const known = new Map<string, { text: string; schema: TableSchema }>();
    for (const namespace of await this.#catalog.namespaces()) {
      for (const [name, schema] of await this.#catalog.tableSchemas(namespace)) {
        const text = JSON.stringify(schema.columns);
        if (text === EVENTS_TEXT) continue;
        const key = keyOf(namespace, name);
        const before = this.#known.get(key);
        known.set(key, before?.text === text ? before : { text, schema });
      }
    }
    return known;
  }
}

const EVENTS_TEXT = JSON.stringify(EVENTS_SCHEMA.columns);

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}
