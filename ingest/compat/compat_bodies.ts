/**
 * Fixed answers of the search-engine surface: docs/api/ingest.md#what-search-engine-clients-ask;
 * who reads which member: docs/clients.md.
 */

export const CLUSTER_NAME = "svc";
const CLUSTER_UUID = "c3ZjLWNvbXBhdC1zdXJmYQ";
export const NODE_ID = "c3ZjLW5vZGUtMDAwMDAwMA";

/** Answer of `GET /`; clients decide by `version` whether they may talk. */
export function fingerprint(version: string) {
  return {
    name: CLUSTER_NAME,
    cluster_name: CLUSTER_NAME,
    cluster_uuid: CLUSTER_UUID,
    version: {
      number: version,
      build_flavor: "default",
      build_type: "tar",
      build_hash: "0000000000000000000000000000000000000000",
      build_date: "2024-12-11T12:08:05.663969764Z",
      build_snapshot: false,
      lucene_version: "9.12.0",
      minimum_wire_compatibility_version: "7.17.0",
      minimum_index_compatibility_version: "7.0.0",
    },
    tagline: "You Know, for Search",
  };
}

export const CLUSTER_HEALTH = {
  cluster_name: CLUSTER_NAME,
  status: "green",
  timed_out: false,
  number_of_nodes: 1,
  number_of_data_nodes: 1,
  active_primary_shards: 0,
  active_shards: 0,
  relocating_shards: 0,
  initializing_shards: 0,
  unassigned_shards: 0,
};

/** Without an active licence Logstash sends nothing. */
export const LICENSE = {
  license: { status: "active", uid: CLUSTER_UUID, type: "basic", mode: "basic" },
};

/** What Beats 7 ask before they send. They put a policy and an alias then: one index has all. */
export const FEATURES = {
  ...LICENSE,
  features: { ilm: { available: true, enabled: true } },
  tagline: "You know, for X",
};
