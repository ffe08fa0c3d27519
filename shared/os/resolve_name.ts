/** Names that are looked up in DNS. */

export interface NameResolver {
  (name: string, type: "A" | "AAAA"): Promise<string[]>;
  (name: string, type: "SRV"): Promise<{ readonly target: string; readonly port: number }[]>;
}

/** Asks the system's name servers. Errors: the runtime's, for example `NotFound`. */
export const resolveName: NameResolver = Deno.resolveDns;
