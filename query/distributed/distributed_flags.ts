/** Options of statements that many query servers share: `README.md`. */

import type { OptionTable } from "../../shared/config/options.ts";

export const DISTRIBUTED_OPTIONS = {
  peers: {
    kind: "list",
    flag: "peers",
    env: "SVC_QUERY_PEERS",
    placeholder: "HOST:PORT,…",
    help:
      "Query servers that share statements with this one, comma-separated; this server may be among them.",
  },
  peersDns: {
    kind: "text",
    flag: "peers-dns",
    env: "SVC_QUERY_PEERS_DNS",
    placeholder: "NAME:PORT",
    help: "A name whose addresses are the query servers that share statements, looked up every " +
      "10 s. A name that begins with _ is looked up as an SRV record and needs no port.",
  },
  coordinatorToken: {
    kind: "text",
    flag: "coordinator-token",
    env: "SVC_QUERY_COORDINATOR_TOKEN",
    placeholder: "TOKEN",
    help: "Token that all query servers share, and with which they send parts of statements to " +
      "each other. Peers need it if --tokens or OIDC is set.",
  },
  peerTlsCa: {
    kind: "text",
    flag: "peer-tls-ca",
    env: "SVC_QUERY_PEER_TLS_CA",
    placeholder: "FILE",
    help: "PEM file of the authority that signed the peers' certificates, if the system does " +
      "not know it. Peers are called over TLS if this server has --tls-cert.",
  },
  distributeBytesMin: {
    kind: "integer",
    flag: "distribute-bytes-min",
    env: "SVC_QUERY_DISTRIBUTE_BYTES_MIN",
    placeholder: "BYTES",
    default: 256 * 1024 * 1024,
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    help: "A query is shared with the peers if it must fetch at least this many bytes from the " +
      "object store; 0 shares every query that reads data files. POST " +
      "/api/v1/sql/distributed always does.",
  },
} as const satisfies OptionTable;
