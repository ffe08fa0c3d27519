/** OIDs of what every server has: those of PostgreSQL where clients know them. */

/** The two schemas of the catalog. */
export const PG_CATALOG_OID = 11;
export const INFORMATION_SCHEMA_OID = 13_000;
/** The schema of the caller's tables. PostgreSQL's `public` has this OID. */
export const OWN_SCHEMA_OID = 2_200;
/** The one database. */
export const DATABASE_OID = 16_383;
/** The one role, which owns everything. */
export const OWNER_OID = 10;
/** How tables are stored, as PostgreSQL would say. */
export const HEAP_OID = 2;
