/**
 * Relations of `pg_catalog` that never have a row here: tables have no keys, indexes, defaults,
 * triggers, views or partitions. Clients join them all the same.
 */

import type { CatalogRelation } from "./relation.ts";

/** Columns of those that clients name, `type: names`. */
const BARE: Readonly<Record<string, string>> = {
  pg_index:
    "UINTEGER: indexrelid indrelid xmin; SMALLINT: indnatts indnkeyatts; BOOLEAN: indisunique indnullsnotdistinct " +
    "indisprimary indisexclusion indimmediate indisclustered indisvalid indcheckxmin indisready " +
    "indislive indisreplident; SMALLINT[]: indkey indoption; UINTEGER[]: indcollation indclass; VARCHAR: indexprs indpred",
  pg_constraint:
    "UINTEGER: oid connamespace conrelid contypid conindid conparentid confrelid xmin; " +
    "VARCHAR: conname contype confupdtype confdeltype confmatchtype conbin consrc; BOOLEAN: condeferrable " +
    "condeferred convalidated conislocal connoinherit conperiod conenforced; INTEGER: coninhcount; SMALLINT[]: conkey " +
    "confkey confdelsetcols; UINTEGER[]: conpfeqop conppeqop conffeqop conexclop",
  pg_attrdef: "UINTEGER: oid adrelid; SMALLINT: adnum; VARCHAR: adbin adsrc",
  pg_enum: "UINTEGER: oid enumtypid; FLOAT: enumsortorder; VARCHAR: enumlabel",
  pg_range:
    "UINTEGER: rngtypid rngsubtype rngmultitypid rngcollation rngsubopc rngcanonical rngsubdiff",
  pg_inherits: "UINTEGER: inhrelid inhparent; INTEGER: inhseqno; BOOLEAN: inhdetachpending",
  pg_depend:
    "UINTEGER: classid objid refclassid refobjid; INTEGER: objsubid refobjsubid; VARCHAR: deptype",
  pg_shdepend:
    "UINTEGER: dbid classid objid refclassid refobjid; INTEGER: objsubid; VARCHAR: deptype",
  pg_shdescription: "UINTEGER: objoid classoid; VARCHAR: description",
  pg_trigger:
    "UINTEGER: oid tgrelid tgparentid tgfoid tgconstrrelid tgconstrindid tgconstraint; VARCHAR: tgname " +
    "tgenabled tgqual tgoldtable tgnewtable; SMALLINT: tgtype tgnargs; BOOLEAN: tgisinternal tgdeferrable tginitdeferred; SMALLINT[]: tgattr; BLOB: tgargs",
  pg_rewrite:
    "UINTEGER: oid ev_class; VARCHAR: rulename ev_type ev_enabled ev_qual ev_action; BOOLEAN: is_instead",
  pg_policy:
    "UINTEGER: oid polrelid; VARCHAR: polname polcmd polqual polwithcheck; BOOLEAN: polpermissive; UINTEGER[]: polroles",
  pg_policies:
    "VARCHAR: schemaname tablename policyname permissive cmd qual with_check; VARCHAR[]: roles",
  pg_statistic_ext:
    "UINTEGER: oid stxrelid stxnamespace stxowner; VARCHAR: stxname; INTEGER: stxstattarget; SMALLINT[]: stxkeys; VARCHAR[]: stxkind; VARCHAR: stxexprs",
  pg_publication:
    "UINTEGER: oid pubowner; VARCHAR: pubname; BOOLEAN: puballtables pubinsert pubupdate pubdelete pubtruncate pubviaroot",
  pg_publication_rel: "UINTEGER: oid prpubid prrelid; VARCHAR: prqual; SMALLINT[]: prattrs",
  pg_publication_namespace: "UINTEGER: oid pnpubid pnnspid",
  pg_publication_tables: "VARCHAR: pubname schemaname tablename rowfilter; VARCHAR[]: attnames",
  pg_subscription:
    "UINTEGER: oid subdbid subowner; VARCHAR: subname subsynccommit subconninfo subslotname subskiplsn substream " +
    "subtwophasestate suborigin; VARCHAR[]: subpublications; BOOLEAN: subenabled subbinary subdisableonerr subpasswordrequired subrunasowner",
  pg_foreign_table: "UINTEGER: ftrelid ftserver; VARCHAR[]: ftoptions",
  pg_foreign_server:
    "UINTEGER: oid srvowner srvfdw; VARCHAR: srvname srvtype srvversion; VARCHAR[]: srvacl srvoptions",
  pg_foreign_data_wrapper:
    "UINTEGER: oid fdwowner fdwhandler fdwvalidator; VARCHAR: fdwname; VARCHAR[]: fdwacl fdwoptions",
  pg_user_mapping: "UINTEGER: oid umuser umserver; VARCHAR[]: umoptions",
  pg_user_mappings: "UINTEGER: umid srvid umuser; VARCHAR: srvname usename; VARCHAR[]: umoptions",
  pg_partitioned_table:
    "UINTEGER: partrelid partdefid; VARCHAR: partstrat partexprs; SMALLINT: partnatts; SMALLINT[]: partattrs",
  pg_sequence:
    "UINTEGER: seqrelid seqtypid; BIGINT: seqstart seqincrement seqmax seqmin seqcache; BOOLEAN: seqcycle",
  pg_sequences:
    "VARCHAR: schemaname sequencename sequenceowner data_type; BIGINT: start_value min_value max_value increment_by cache_size last_value; BOOLEAN: cycle",
  pg_extension:
    "UINTEGER: oid extowner extnamespace; VARCHAR: extname extversion; BOOLEAN: extrelocatable; UINTEGER[]: extconfig; VARCHAR[]: extcondition",
  pg_available_extensions: "VARCHAR: name default_version installed_version comment",
  pg_collation:
    "UINTEGER: oid collnamespace collowner; VARCHAR: collname collprovider collcollate collctype colllocale colliculocale collicurules collversion; BOOLEAN: collisdeterministic; INTEGER: collencoding",
  pg_conversion:
    "UINTEGER: oid connamespace conowner conproc; VARCHAR: conname; INTEGER: conforencoding contoencoding; BOOLEAN: condefault",
  pg_operator:
    "UINTEGER: oid oprnamespace oprowner oprleft oprright oprresult oprcom oprnegate oprcode oprrest oprjoin; VARCHAR: oprname oprkind; BOOLEAN: oprcanmerge oprcanhash",
  pg_opclass:
    "UINTEGER: oid opcmethod opcnamespace opcowner opcfamily opcintype opckeytype; VARCHAR: opcname; BOOLEAN: opcdefault",
  pg_opfamily: "UINTEGER: oid opfmethod opfnamespace opfowner; VARCHAR: opfname",
  pg_aggregate:
    "UINTEGER: aggfnoid aggtransfn aggfinalfn aggsortop aggtranstype; VARCHAR: aggkind agginitval; SMALLINT: aggnumdirectargs",
  pg_cast: "UINTEGER: oid castsource casttarget castfunc; VARCHAR: castcontext castmethod",
  pg_amop:
    "UINTEGER: oid amopfamily amoplefttype amoprighttype amopopr amopmethod amopsortfamily; VARCHAR: amoppurpose; SMALLINT: amopstrategy",
  pg_amproc:
    "UINTEGER: oid amprocfamily amproclefttype amprocrighttype amproc; SMALLINT: amprocnum",
  pg_event_trigger:
    "UINTEGER: oid evtowner evtfoid; VARCHAR: evtname evtevent evtenabled; VARCHAR[]: evttags",
  pg_auth_members:
    "UINTEGER: oid roleid member grantor; BOOLEAN: admin_option inherit_option set_option",
  pg_default_acl:
    "UINTEGER: oid defaclrole defaclnamespace; VARCHAR: defaclobjtype; VARCHAR[]: defaclacl",
  pg_db_role_setting: "UINTEGER: setdatabase setrole; VARCHAR[]: setconfig",
  pg_parameter_acl: "UINTEGER: oid; VARCHAR: parname; VARCHAR[]: paracl",
  pg_largeobject_metadata: "UINTEGER: oid lomowner; VARCHAR[]: lomacl",
  pg_views: "VARCHAR: schemaname viewname viewowner definition",
  pg_matviews:
    "VARCHAR: schemaname matviewname matviewowner tablespace definition; BOOLEAN: hasindexes ispopulated",
  pg_indexes: "VARCHAR: schemaname tablename indexname tablespace indexdef",
  pg_rules: "VARCHAR: schemaname tablename rulename definition",
  pg_locks:
    "VARCHAR: locktype mode virtualxid virtualtransaction; UINTEGER: database relation transactionid classid objid; INTEGER: pid page; SMALLINT: tuple objsubid; BOOLEAN: granted fastpath; TIMESTAMPTZ: waitstart",
  pg_stat_activity:
    "UINTEGER: datid usesysid backend_xid backend_xmin; INTEGER: pid leader_pid client_port; BIGINT: query_id; VARCHAR: datname usename application_name client_addr client_hostname state query wait_event wait_event_type backend_type; TIMESTAMPTZ: backend_start xact_start query_start state_change",
  pg_stat_database:
    "UINTEGER: datid; BIGINT: numbackends xact_commit xact_rollback blks_read blks_hit tup_returned tup_fetched tup_inserted tup_updated tup_deleted; VARCHAR: datname",
  pg_stat_user_tables:
    "UINTEGER: relid; BIGINT: seq_scan seq_tup_read idx_scan n_live_tup n_dead_tup; VARCHAR: schemaname relname; TIMESTAMPTZ: last_vacuum last_analyze",
  pg_stat_all_tables:
    "UINTEGER: relid; BIGINT: seq_scan seq_tup_read idx_scan idx_tup_fetch n_tup_ins n_tup_upd n_tup_del n_tup_hot_upd n_live_tup n_dead_tup n_mod_since_analyze n_ins_since_vacuum vacuum_count autovacuum_count analyze_count autoanalyze_count; VARCHAR: schemaname relname; TIMESTAMPTZ: last_seq_scan last_idx_scan last_vacuum last_autovacuum last_analyze last_autoanalyze",
  pg_stat_gssapi: "INTEGER: pid; BOOLEAN: gss_authenticated encrypted; VARCHAR: principal",
  pg_stat_replication:
    "INTEGER: pid client_port sync_priority; UINTEGER: usesysid; VARCHAR: usename application_name client_addr client_hostname state sync_state sent_lsn write_lsn flush_lsn replay_lsn; TIMESTAMPTZ: backend_start reply_time; INTERVAL: write_lag flush_lag replay_lag",
  pg_statio_all_tables:
    "UINTEGER: relid; VARCHAR: schemaname relname; BIGINT: heap_blks_read heap_blks_hit idx_blks_read idx_blks_hit toast_blks_read toast_blks_hit tidx_blks_read tidx_blks_hit",
  pg_seclabels:
    "UINTEGER: objoid classoid; INTEGER: objsubid; VARCHAR: objtype objname provider label",
  pg_seclabel: "UINTEGER: objoid classoid; INTEGER: objsubid; VARCHAR: provider label",
  pg_shseclabel: "UINTEGER: objoid classoid; VARCHAR: provider label",
  pg_ts_config: "UINTEGER: oid cfgnamespace cfgowner cfgparser; VARCHAR: cfgname",
  pg_ts_dict:
    "UINTEGER: oid dictnamespace dictowner dicttemplate; VARCHAR: dictname dictinitoption",
  pg_ts_parser:
    "UINTEGER: oid prsnamespace prsstart prstoken prsend prsheadline prslextype; VARCHAR: prsname",
  pg_ts_template: "UINTEGER: oid tmplnamespace tmplinit tmpllexize; VARCHAR: tmplname",
  pg_stats:
    "VARCHAR: schemaname tablename attname most_common_vals most_common_freqs histogram_bounds most_common_elems most_common_elem_freqs elem_count_histogram; BOOLEAN: inherited; FLOAT: null_frac n_distinct correlation; INTEGER: avg_width",
  pg_cursors:
    "VARCHAR: name statement; BOOLEAN: is_holdable is_binary is_scrollable; TIMESTAMPTZ: creation_time",
  pg_group: "VARCHAR: groname; UINTEGER: grosysid; UINTEGER[]: grolist",
  pg_prepared_statements: "VARCHAR: name statement; TIMESTAMPTZ: prepare_time; BOOLEAN: from_sql",
  pg_prepared_xacts: "VARCHAR: gid owner database; TIMESTAMPTZ: prepared",
  // What functions in FROM give: `FROM pg_get_keywords()`.
  pg_get_keywords: "VARCHAR: word catcode catdesc baredesc; BOOLEAN: barelabel",
  aclexplode: "UINTEGER: grantor grantee; VARCHAR: privilege_type; BOOLEAN: is_grantable",
  pg_options_to_table: "VARCHAR: option_name option_value",
  pg_partition_ancestors: "UINTEGER: relid",
  pg_partition_tree: "UINTEGER: relid parentrelid; BOOLEAN: isleaf; INTEGER: level",
};

/** Functions that a FROM may call. Each gives no row. */
export const BARE_FUNCTIONS: ReadonlySet<string> = new Set([
  "pg_get_keywords",
  "aclexplode",
  "pg_options_to_table",
  "pg_partition_ancestors",
  "pg_partition_tree",
  "pg_show_all_settings",
]);

/** Without rows. What has an `oid` has the oid of its relation, too. */
export const BARE_RELATIONS: readonly CatalogRelation[] = Object.entries(BARE).map((
  [name, declared],
): CatalogRelation => ({
  schema: "pg_catalog",
  name,
  columns: bareColumns(/: oid\b/.test(declared) ? `${declared}; UINTEGER: tableoid` : declared),
}));

/** Returns `UINTEGER: a b; VARCHAR: c` as lines of one column each. */
export function bareColumns(declared: string): string {
  return declared.split(";").flatMap((group) => {
    const [type = "", names = ""] = group.split(":").map((part) => part.trim());
    return names.split(/\s+/).map((name) => `${name} ${type}`);
  }).join("\n");
}
