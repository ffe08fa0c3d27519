/**
 * Which variables of ours a child process gets: our own settings, those of PostgreSQL and of S3,
 * and what the runtime needs. Calls `Deno.env`.
 */

/** Where the runtime finds its cache and temporary files, and how it prints. */
const RUNTIME_NAMES = [
  "HOME",
  "USERPROFILE",
  "XDG_CACHE_HOME",
  "DENO_DIR",
  "TMPDIR",
  "NO_COLOR",
] as const;

/** The variables that a child process is started with. */
export function childEnvironment(): Record<string, string> {
  const all = Deno.env.toObject();
  const names = Object.keys(all).filter((name) => /^(SVC_|PG|AWS_)/.test(name));
  const kept: Record<string, string> = { DENO_NO_UPDATE_CHECK: "1" };
  for (const name of [...names, ...RUNTIME_NAMES]) {
    const value = all[name];
    if (value !== undefined) kept[name] = value;
  }
  return kept;
}
