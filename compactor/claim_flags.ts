/**
 * Options of a compactor that has no WAL volume and drains the mirror:
 * docs/api/ingest.md#acknowledgement and docs/api/command_line.md#options-of-the-servers.
 */

import type { OptionTable } from "../shared/config/options.ts";

export const CLAIM_OPTIONS = {
  catalogClaim: {
    kind: "switch",
    flag: "catalog-claim",
    env: "SVC_CATALOG_CLAIM",
    help: "Drain the mirror of the WAL in the warehouse instead of a local WAL. Each batch of " +
      "segments is claimed in the catalog, so that several such compactors share the work.",
  },
  walMirrorPrefix: {
    kind: "text",
    flag: "wal-mirror-prefix",
    env: "SVC_WAL_MIRROR_PREFIX",
    placeholder: "prefix",
    emptyCounts: true,
    help: "Folder of the mirror in the warehouse. When not given: wal-mirror/ with " +
      "--warehouse-url or --catalog-claim, otherwise no mirror. Its objects are removed " +
      "with the segments.",
  },
  claimLeaseSecs: {
    kind: "integer",
    flag: "claim-lease-secs",
    env: "SVC_CLAIM_LEASE_SECS",
    placeholder: "secs",
    default: 60,
    min: 3,
    max: 3_600,
    help: "Another compactor may take over a claim that was not renewed for this long. A late " +
      "commit of its first holder is refused.",
  },
  requeueQuarantined: {
    kind: "switch",
    flag: "requeue-quarantined",
    help: "At the start, try segments again that are quarantined in the catalog. Needs " +
      "--catalog-claim.",
  },
  claimAttemptsMax: {
    kind: "integer",
    flag: "claim-attempts-max",
    env: "SVC_CLAIM_ATTEMPTS_MAX",
    placeholder: "n",
    default: 5,
    min: 1,
    max: 1_000,
    help: "A segment is quarantined in the catalog after this many claims that failed or " +
      "expired.",
  },
} as const satisfies OptionTable;
