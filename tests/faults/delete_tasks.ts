/** Delete tasks that take whole requests out of `events`, and what became of them. */

import { until } from "./commands.ts";
import type { Ledger } from "./ledger.ts";
import { sourceOf } from "./senders.ts";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";

const REQUEST_MS_MAX = 20_000;
const DONE_MS_MAX = 120_000;

export class DeleteTasks {
  readonly #url: string;
  readonly #ledger: Ledger;
  /** Requests by the id of the task that was accepted for them. */
  readonly #accepted = new Map<string, number>();

  constructor(queryUrl: string, ledger: Ledger) {
    this.#url = `${queryUrl}/api/v1/delete-tasks`;
    this.#ledger = ledger;
  }

  get count(): number {
    return this.#accepted.size;
  }

  /** Asks for a task; one without an answer may run or not, and its rows go or stay. */
  async begin(random: SeededRandom): Promise<void> {
    const request = this.#ledger.doomable(random);
    if (request === undefined) return;
    this.#ledger.doom(request, "begun");
    const body = { index_id: "events", predicate_sql: `source = '${sourceOf(request)}'` };
    try {
      const response = await fetch(this.#url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_MS_MAX),
      });
      const { task_id } = await response.json();
      if (response.status === 201) this.#accepted.set(task_id, request);
    } catch {
      // The server is away: that is what the run is about.
    }
  }

  /** Waits until all that were accepted are done. Errors: an `Error` that names one that is not. */
  async settle(): Promise<void> {
    for (const [id, request] of this.#accepted) {
      let answer = "";
      await until(() => `delete task ${id} is done, it is ${answer}`, async () => {
        const response = await fetch(`${this.#url}/${id}`);
        answer = await response.text();
        const { status } = JSON.parse(answer);
        if (status === "failed" || response.status === 404) {
          throw new Error(`delete task ${id} was accepted and is ${answer}`);
        }
        return status === "done";
      }, DONE_MS_MAX);
      this.#ledger.doom(request, "done");
    }
  }
}
