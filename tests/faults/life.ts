/**
 * A life of the service's data: three real processes under their permission sets, senders, delete
 * tasks, and the ledger of what was promised. Faults come from whoever drives it.
 */

import { makeDataFolders } from "../../cli/data_folders.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { type RoleName, Stack, type StackOptions } from "../apps/stack.ts";
import { countBySql } from "./check/accounting.ts";
import { delay, until } from "./commands.ts";
import { DeleteTasks } from "./delete_tasks.ts";
import { findingsOf, Ledger } from "./ledger.ts";
import { BRIEF, FULL_LOAD, type Load, Senders } from "./senders.ts";

export const ROLES: readonly RoleName[] = ["ingest", "compactor", "query"];

/** A busy machine takes its time. */
export const READY_MS_MAX = 180_000;
/** Past it a server that refuses rows is stuck. */
const RESUMED_MS_MAX = 90_000;
const TASK_PAUSE_MS = 4_000;
/** What makes drains, merges and rolls come several times a minute. */
const ENVIRONMENT = { SVC_COMMIT_MAX_AGE_SECS: "1", SVC_INGEST_FREE_SPACE_FLOOR_MIB: "16" };
const INGEST = ["--wal-max-events", "300"];

export class Life implements AsyncDisposable {
  readonly ledger = new Ledger();
  readonly stack: Stack;
  readonly senders: Senders;
  readonly tasks: DeleteTasks;
  readonly findings: string[] = [];
  readonly #random: SeededRandom;
  /** Whether delete tasks are asked for under load. */
  asksForDeletes = true;
  /** Row comparisons of all checks. */
  compared = 0;
  checks = 0;

  constructor(readonly dataDir: string, random: SeededRandom, options: StackOptions = {}) {
    this.#random = random;
    this.stack = Stack.unstarted(dataDir, {
      rollAgeSecs: 1,
      readyMsMax: READY_MS_MAX,
      ...options,
      env: { ...ENVIRONMENT, ...options.env },
      ingestArgs: [...INGEST, ...options.ingestArgs ?? []],
    });
    const seed = random.below(0xffff_ffff);
    this.senders = new Senders(this.stack, this.ledger, new SeededRandom(seed));
    this.tasks = new DeleteTasks(this.stack.queryUrl, this.ledger);
  }

  /** Starts those that do not run, all at once, and waits until they are ready. */
  async start(roles: readonly RoleName[] = ROLES): Promise<void> {
    await makeDataFolders(this.dataDir);
    await Promise.all(roles.map((role) => this.stack.ensure(role)));
  }

  /**
   * Makes the index `BRIEF`, and sends rows to it from now on. `mayAllGo`: the clock may make any
   * of them older than it keeps rows.
   */
  async includeBrief({ mayAllGo = false } = {}): Promise<void> {
    const config = {
      index_id: BRIEF.table,
      retention: { period_secs: BRIEF.retentionSecs, exact: true },
      doc_mapping: {
        mode: "dynamic",
        field_mappings: [{ name: "timestamp", type: "datetime", required: true }],
      },
    };
    const response = await fetch(`${this.stack.queryUrl}/api/v1/indexes`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(config),
    });
    const answer = await response.text();
    if (response.status !== 201) throw new Error(`no index ${BRIEF.table}: ${answer}`);
    this.senders.includeBrief(mayAllGo);
  }

  /** Sends rows and asks for delete tasks while `during` runs. */
  async load<T>(during: () => Promise<T>, load: Load = FULL_LOAD): Promise<T> {
    const over = new AbortController();
    const work = [this.senders.run(load, over.signal), this.#askForDeletes(over.signal)];
    try {
      return await during();
    } finally {
      over.abort();
      await Promise.all(work);
    }
  }

  /** Waits until a row more is acknowledged. */
  async untilTaken(): Promise<void> {
    const before = this.ledger.acknowledgedRows;
    const taken = () => this.ledger.acknowledgedRows > before;
    await until("rows are taken again", taken, RESUMED_MS_MAX);
  }

  /** SIGKILL to all roles at once. */
  async killAll(): Promise<void> {
    await Promise.all(ROLES.map((role) => this.stack.kill(role)));
  }

  /** Compares what SQL answers with the ledger. What it answers must be there from then on. */
  async checkBySql(when: string): Promise<void> {
    const promised = this.ledger.promises();
    const found = await countBySql(this.stack, this.ledger.tables);
    const verdict = this.ledger.check(found, promised, { pin: true });
    this.compared += verdict.compared;
    this.checks += 1;
    this.findings.push(...findingsOf(verdict, `${when}, by SQL`));
  }

  /** The last word: what had no answer is sent again, delete tasks end, and all is compared. */
  async end(): Promise<void> {
    await this.start();
    await this.senders.repeatUnanswered();
    await this.tasks.settle();
    await this.checkBySql("at the end");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.killAll();
  }

  async #askForDeletes(signal: AbortSignal): Promise<void> {
    const random = new SeededRandom(this.#random.below(0xffff_ffff));
    while (!signal.aborted && this.asksForDeletes) {
      await Promise.race([
        delay(random.below(2 * TASK_PAUSE_MS)),
        new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true })),
      ]);
      if (!signal.aborted) await this.tasks.begin(random);
    }
  }
}
