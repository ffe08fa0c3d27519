/** What several runs of one request did together. */

import type { RunningQuery, Stats } from "../types.ts";

/** What both did, without what is of one scan. The first one's path stands for both. */
export function addStats({ scan: _, ...a }: Stats, b: Stats): Stats {
  return {
    ...a,
    rows_scanned: a.rows_scanned + b.rows_scanned,
    bytes_scanned: a.bytes_scanned + b.bytes_scanned,
    spill_bytes: a.spill_bytes + b.spill_bytes,
    phases: {
      plan_micros: a.phases.plan_micros + b.phases.plan_micros,
      buffer_delta_micros: a.phases.buffer_delta_micros + b.phases.buffer_delta_micros,
      collect_micros: a.phases.collect_micros + b.phases.collect_micros,
      render_micros: a.phases.render_micros + b.phases.render_micros,
    },
  };
}

/**
 * The run with `before` in its statistics, which is what was run for it. What it tells of its own
 * scan stays. `pin`: of all that was read.
 */
export function withStatsOf(
  running: RunningQuery,
  before: readonly Stats[],
  pin: string | undefined,
): RunningQuery {
  if (before.length === 0) return running;
  const { columns, approximation } = running;
  return {
    columns,
    ...(approximation === undefined ? {} : { approximation }),
    chunks: (shape) => running.chunks(shape),
    ...(running.packed === undefined ? {} : { packed: running.packed.bind(running) }),
    arrowSchema: (names) => running.arrowSchema(names),
    progress: () => running.progress(),
    async stats() {
      const own = await running.stats();
      const damage = [own, ...before].find(({ wal_damage }) => wal_damage !== undefined);
      const sum = before.reduce(addStats, own);
      const { distributed } = own.phases;
      return {
        ...sum,
        ...(distributed === undefined ? {} : { phases: { ...sum.phases, distributed } }),
        ...(own.scan === undefined ? {} : { scan: own.scan }),
        ...(pin === undefined ? {} : { snapshot: pin }),
        ...(damage?.wal_damage === undefined ? {} : { wal_damage: damage.wal_damage }),
      };
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}
