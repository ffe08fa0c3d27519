/** Where the peers are: a list of the settings, and names that are looked up. */

import { messageOf, UsageError } from "../../shared/base/errors.ts";
import type { NameResolver } from "../../shared/os/resolve_name.ts";
import type { PeerAddress } from "./peer_state.ts";

export interface PeerNames {
  readonly listed: readonly PeerAddress[];
  readonly dns: DnsName | undefined;
}

type DnsName =
  | { readonly kind: "addresses"; readonly name: string; readonly port: number }
  | { readonly kind: "services"; readonly name: string };

/** Errors: `invalid_argument` for a text that is no `host:port`. */
export function peerNames(
  { peers, peersDns }: {
    readonly peers: readonly string[];
    readonly peersDns?: string | undefined;
  },
): PeerNames {
  return {
    listed: [...new Set(peers.map((peer) => addressOf(peer, "--peers")))],
    dns: peersDns === undefined ? undefined : dnsName(peersDns),
  };
}

/** All that is known; what fails to be looked up is told and the rest returned. */
export async function lookUpPeers(
  { listed, dns }: PeerNames,
  resolve: NameResolver,
): Promise<{ readonly addresses: readonly PeerAddress[]; readonly failure?: string }> {
  if (dns === undefined) return { addresses: listed };
  try {
    const found = dns.kind === "services"
      ? (await resolve(dns.name, "SRV")).map(({ target, port }) =>
        `${target.replace(/\.$/, "")}:${port}`
      )
      : await addressesOf(dns, resolve);
    return { addresses: [...new Set([...listed, ...found.sort()])] };
  } catch (error) {
    return { addresses: listed, failure: `cannot look up ${dns.name}: ${messageOf(error)}` };
  }
}

/** A host may have addresses of one kind alone. */
async function addressesOf(
  { name, port }: Extract<DnsName, { kind: "addresses" }>,
  resolve: NameResolver,
): Promise<PeerAddress[]> {
  const asked = await Promise.allSettled([resolve(name, "A"), resolve(name, "AAAA")]);
  const [four, six] = asked.map((one) => one.status === "fulfilled" ? one.value : []);
  const found = [
    ...(four ?? []).map((address) => `${address}:${port}`),
    ...(six ?? []).map((address) => `[${address}]:${port}`),
  ];
  const failed = asked.find((one) => one.status === "rejected");
  if (found.length === 0 && failed !== undefined) throw failed.reason;
  return found;
}

function dnsName(text: string): DnsName {
  if (text.startsWith("_") && !text.includes(":")) return { kind: "services", name: text };
  const address = addressOf(text, "--peers-dns");
  const at = address.lastIndexOf(":");
  return { kind: "addresses", name: address.slice(0, at), port: Number(address.slice(at + 1)) };
}

function addressOf(text: string, option: string): PeerAddress {
  const url = URL.canParse(`http://${text}`) ? new URL(`http://${text}`) : undefined;
  // A URL leaves out the port that its scheme has anyway.
  const port = /:(\d{1,5})$/.exec(text)?.[1];
  if (url === undefined || port === undefined || url.pathname !== "/" || url.username !== "") {
    throw new UsageError(
      `Cannot use ${JSON.stringify(text)} of ${option}: give host:port, for example query-2:8089`,
    );
  }
  return `${url.hostname}:${Number(port)}`;
}
