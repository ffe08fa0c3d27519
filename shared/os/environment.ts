/** One variable of the process's environment. Needs env permission for its name. */
export function environment(name: string): string | undefined {
  return Deno.env.get(name);
}

/**
 * The names of this process's variables; none where it may not list them. A role may not, because
 * it may read those of `SVC_*` alone.
 */
export function variableNames(): string[] {
  const { state, partial } = Deno.permissions.querySync({ name: "env" });
  return state === "granted" && !partial ? Object.keys(Deno.env.toObject()) : [];
}
