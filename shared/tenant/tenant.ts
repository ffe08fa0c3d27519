/**
 * Tenants, their namespaces, and what a lane is called. See docs/api/README.md#tenants-on-ingest.
 */

/** The tenant of a single-tenant service. */
export const DEFAULT_TENANT = "default";
/** The namespace that holds the default tenant's tables. */
export const DEFAULT_NAMESPACE = "svc";

/** A lane: the WAL stream of one tenant's one table. */
export interface LaneId {
  readonly tenant: string;
  /** Also the table's name. */
  readonly index: string;
}

/** A table's place in the catalog. */
export interface TableIdent {
  readonly namespace: string;
  readonly name: string;
}

/** The namespace that holds the tenant's tables: `svc` for tenant `default`, else its own name. */
export function namespaceOf(tenant: string): string {
  return tenant === DEFAULT_TENANT ? DEFAULT_NAMESPACE : tenant;
}

/** The tenant whose tables `namespace` holds. */
export function tenantOf(namespace: string): string {
  return namespace === DEFAULT_NAMESPACE ? DEFAULT_TENANT : namespace;
}

/** The table that a lane is drained into. */
export function tableOf(lane: LaneId): TableIdent {
  return { namespace: namespaceOf(lane.tenant), name: lane.index };
}

/** `default/events`: for messages and metric labels. */
export function laneName(lane: LaneId): string {
  return `${lane.tenant}/${lane.index}`;
}
