/**
 * The order in which work of many tenants is taken, so that nobody waits for all that another has.
 */

/**
 * One item of each tenant, then a second one of each, and so on. Those of a tenant keep their
 * order.
 */
export function interleaved<T>(items: readonly T[], tenantOf: (item: T) => string): T[] {
  const taken = new Map<string, number>();
  const ranked = items.map((item) => {
    const tenant = tenantOf(item);
    const rank = taken.get(tenant) ?? 0;
    taken.set(tenant, rank + 1);
    return { item, rank };
  });
  return ranked.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
}

/** The first item of each tenant. */
export function firstOfEach<T>(items: readonly T[], tenantOf: (item: T) => string): T[] {
  const tenants = new Set<string>();
  return items.filter((item) => {
    const isFirst = !tenants.has(tenantOf(item));
    tenants.add(tenantOf(item));
    return isFirst;
  });
}
