/**
 * Run by `permissions_test.ts` under a role's permission flags. Tries each attempt of the JSON list
 * in its argument and prints, in the same order, whether the runtime let it through. An attempt
 * that fails for another reason (no such file, no such library) was let through.
 */

export type Attempt = readonly [kind: keyof typeof TRIES, target: string];

const TRIES = {
  read: (path: string) => Deno.readFile(path),
  list: (path: string) => Array.fromAsync(Deno.readDir(path)),
  write: (path: string) => Deno.writeTextFile(path, "probe"),
  remove: (path: string) => Deno.remove(path),
  listen: (address: string) => Deno.listen(hostAndPort(address)).close(),
  connect: async (address: string) => (await Deno.connect(hostAndPort(address))).close(),
  env: (name: string) => Deno.env.get(name),
  run: (program: string) => new Deno.Command(program).output(),
  ffi: (path: string) => Deno.dlopen(path, {}).close(),
  sys: (_: string) => Deno.hostname(),
};

function hostAndPort(address: string): { hostname: string; port: number } {
  const [hostname = "", port = ""] = address.split(":");
  return { hostname, port: Number(port) };
}

async function letThrough([kind, target]: Attempt): Promise<boolean> {
  try {
    await TRIES[kind](target);
  } catch (error) {
    return !(error instanceof Deno.errors.NotCapable);
  }
  return true;
}

if (import.meta.main) {
  const attempts: readonly Attempt[] = JSON.parse(Deno.args[0] ?? "[]");
  const outcomes: boolean[] = [];
  for (const attempt of attempts) outcomes.push(await letThrough(attempt));
  await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(outcomes)));
}
