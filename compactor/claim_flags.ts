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
    help: "Where the mirror is in the warehouse; wal-mirror/ with --warehouse-url or " +
      "--catalog-claim, else there is none. Its objects are removed with the segments.",
  },
  claimLeaseSecs: {
    kind: "integer",
    flag: "claim-lease-secs",
    env: "SVC_CLAIM_LEASE_SECS",
    placeholder: "secs",
    default: 60,
    min: 3,
    max: 3_600,
    help: "A claim that is not renewed for this long is free for others; what its holder commits " +
      "later is refused.",
  },
  requeueQuarantined: {
    kind: "switch",
    flag: "requeue-quarantined",
    help: "At the start, hand out again what is quarantined in the catalog; with --catalog-claim.",
  },
  claimAttemptsMax: {
    kind: "integer",
    flag: "claim-attempts-max",
    env: "SVC_CLAIM_ATTEMPTS_MAX",
    placeholder: "n",
    default: 5,
    min: 1,
    max: 1_000,
    help: "A segment whose claims failed or ran out this often is quarantined in the catalog.",
  },
} as const satisfies OptionTable;
