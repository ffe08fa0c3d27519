/**
 * Peers by real answers of a name server, as `Deno.resolveDns` reads them. Whole servers ask one in
 * `tests/long/apps/distributed_names_test.ts`.
 */

import { deepStrictEqual, match } from "node:assert/strict";
import { NameServer } from "../../shared/testing/name_server.ts";
import { lookUpPeers, peerNames } from "./peer_names.ts";

const HEADLESS = "query-headless.svc.example";
const SERVICES = "_http._tcp.query.svc.example";

Deno.test({
  name: "lookUpPeers reads A, AAAA and SRV records of a name server, and finds what changes",
  async fn() {
    await using server = await NameServer.start({
      [HEADLESS]: { a: ["10.0.0.2", "10.0.0.1"], aaaa: ["fd00::1"] },
      [SERVICES]: { srv: ["query-1.svc.example:8089"] },
    });
    const resolve = server.resolver();
    const headless = peerNames({ peers: [], peersDns: `${HEADLESS}.:8089` });
    deepStrictEqual(await lookUpPeers(headless, resolve), {
      addresses: ["10.0.0.1:8089", "10.0.0.2:8089", "[fd00::1]:8089"],
    });
    const services = peerNames({ peers: [], peersDns: `${SERVICES}.` });
    deepStrictEqual(await lookUpPeers(services, resolve), {
      addresses: ["query-1.svc.example:8089"],
    });
    server.become({ [HEADLESS]: { a: ["10.0.0.3"] } });
    deepStrictEqual(await lookUpPeers(headless, resolve), { addresses: ["10.0.0.3:8089"] });
    server.become({});
    const { addresses, failure = "" } = await lookUpPeers(headless, resolve);
    deepStrictEqual(addresses, []);
    match(failure, new RegExp(`^cannot look up ${HEADLESS}`));
  },
});
