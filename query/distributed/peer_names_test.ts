import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import type { NameResolver } from "../../shared/os/resolve_name.ts";
import { lookUpPeers, peerNames } from "./peer_names.ts";

const RESOLVE = ((name: string, type: string) => {
  if (name === "gone") return Promise.reject(new Error("no such name"));
  if (type === "SRV") return Promise.resolve([{ target: "query-1.svc.", port: 9 }]);
  if (type === "AAAA") return Promise.reject(new Error("no such record"));
  return Promise.resolve(["10.0.0.2", "10.0.0.1"]);
}) as NameResolver;

for (
  const { peers = [], peersDns, addresses } of [
    { peers: ["b:80", "a:8089", "b:80"], addresses: ["b:80", "a:8089"] },
    { peers: ["[::1]:8089"], addresses: ["[::1]:8089"] },
    { peersDns: "query:8089", addresses: ["10.0.0.1:8089", "10.0.0.2:8089"] },
    { peersDns: "_http._tcp.query", addresses: ["query-1.svc:9"] },
    { peers: ["a:1"], peersDns: "query:2", addresses: ["a:1", "10.0.0.1:2", "10.0.0.2:2"] },
  ]
) {
  Deno.test({
    name: `lookUpPeers ${JSON.stringify({ peers, peersDns })} are ${addresses.join()}`,
    async fn() {
      const found = await lookUpPeers(peerNames({ peers, peersDns }), RESOLVE);
      deepStrictEqual(found, { addresses });
    },
  });
}

Deno.test({
  name: "lookUpPeers a name that is not there is told, and the listed ones stay",
  async fn() {
    const found = await lookUpPeers(peerNames({ peers: ["a:1"], peersDns: "gone:2" }), RESOLVE);
    deepStrictEqual(found.addresses, ["a:1"]);
    // Neither kind of address is there; the first failure is told.
    strictEqual(found.failure, "cannot look up gone: no such name");
  },
});

for (const text of ["a", "a:", "http://a:1", "a:1/x", "u@a:1", ":1", "a:99999"]) {
  Deno.test({
    name: `peerNames refuses ${JSON.stringify(text)}`,
    fn: () => throws(() => peerNames({ peers: [text] }), { name: "UsageError" }),
  });
}
