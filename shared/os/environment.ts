/** One variable of the process's environment. Needs env permission for its name. */
export function environment(name: string): string | undefined {
  return Deno.env.get(name);
}
