/**
 * What clients ask of the cluster: its nodes, to find those to talk to, and who they are
 * themselves.
 */

import { compatJson } from "./compat_reply.ts";
import { CLUSTER_NAME, fingerprint, NODE_ID } from "./compat_bodies.ts";
import { ASKED, type CompatRoute } from "./compat_route.ts";

export interface ClusterRouteDeps {
  /** `version.number` of the fingerprint. */
  readonly version: string;
  /** Most bytes of a bulk request. */
  readonly bodyBytesMax: number;
}

/** Routes by which clients ask what server this is and how it does. */
export function clusterRoutes(deps: ClusterRouteDeps): CompatRoute[] {
  return [
    {
      ...ASKED,
      path: /^\/_nodes(?:\/(?:_all|_local|_master))?(?:\/http)?$/,
      handle: (request) => compatJson(request, JSON.stringify(nodes(request, deps))),
    },
    {
      ...ASKED,
      path: /^\/_security\/_authenticate$/,
      handle: (request, { tenant }) =>
        compatJson(request, JSON.stringify(authenticated(request, tenant))),
    },
  ];
}

/**
 * One node, at the address that the client asked: it can be reached there, whatever stands between.
 */
function nodes(request: Request, { version, bodyBytesMax }: ClusterRouteDeps) {
  const { host, hostname, port, protocol } = new URL(request.url);
  const address = port === "" ? `${hostname}:${protocol === "https:" ? 443 : 80}` : host;
  const { build_flavor, build_hash, build_type } = fingerprint(version).version;
  return {
    _nodes: { total: 1, successful: 1, failed: 0 },
    cluster_name: CLUSTER_NAME,
    nodes: {
      [NODE_ID]: {
        name: CLUSTER_NAME,
        transport_address: address,
        host: hostname,
        ip: hostname,
        version,
        build_flavor,
        build_type,
        build_hash,
        roles: ["data", "ingest", "master"],
        attributes: {},
        http: {
          bound_address: [address],
          publish_address: address,
          max_content_length_in_bytes: bodyBytesMax,
        },
      },
    },
  };
}

/** The tenant stands for the user: it is whom rows are stored for. */
function authenticated(request: Request, tenant: string) {
  const realm = { name: CLUSTER_NAME, type: CLUSTER_NAME };
  return {
    username: tenant,
    roles: [],
    full_name: null,
    email: null,
    metadata: {},
    enabled: true,
    authentication_realm: realm,
    lookup_realm: realm,
    authentication_type: request.headers.has("authorization") ? "token" : "anonymous",
  };
}
