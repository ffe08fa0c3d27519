/** Whether a limited rate is kept, counted in requests. */

export interface BudgetedRequests {
  /** What may be taken at once; one more is earned each second. */
  readonly burst: number;
  /** Sends requests at once, on a budget of which nothing is used; gives their statuses. */
  send(): Promise<readonly number[]>;
  /** How many requests the servers let pass unchecked so far. */
  unchecked(): Promise<number>;
}

/**
 * How many more requests were answered 200 than the budget has: not above 0 where it is kept. A
 * server whose Redis does not answer in time lets requests pass unchecked and counts them, so they
 * are no excess.
 */
export async function overBudget({ burst, send, unchecked }: BudgetedRequests): Promise<number> {
  const before = await unchecked();
  const begunMs = performance.now();
  const statuses = await send();
  const earned = Math.ceil((performance.now() - begunMs) / 1_000);
  const passed = await unchecked() - before;
  return statuses.filter((status) => status === 200).length - burst - earned - passed;
}
