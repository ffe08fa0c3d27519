/**
 * Whether the addresses of a stack can be had, asked before its processes start. Their own messages
 * name their own options, and a stack that has the ports already would answer in the place of the
 * new one. A port that is taken between this and their start is theirs to report. Calls
 * `Deno.listen` itself.
 */

import { parseListenAddress } from "../../shared/http/listen_address.ts";
import { listenError } from "../../shared/http/listener.ts";

export interface WantedAddress {
  /** `host:port`. */
  readonly address: string;
  /** The option as users write it: `--ingest-bind`. */
  readonly option: string;
}

/**
 * Errors: `invalid_argument` for what is no address of this machine; `unavailable` for a port that
 * is in use.
 */
export function checkAddresses(wanted: readonly WantedAddress[]): void {
  const listeners: Disposable[] = [];
  try {
    for (const { address, option } of wanted) {
      const { hostname, port } = parseListenAddress(address, option);
      try {
        listeners.push(Deno.listen({ hostname, port }));
      } catch (error) {
        throw listenError(error, { hostname, port, option });
      }
    }
  } finally {
    for (const listener of listeners) listener[Symbol.dispose]();
  }
}
