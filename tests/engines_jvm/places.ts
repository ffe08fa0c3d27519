/** Where the engines of the JVM are, and which of them are there. */

import { isInstalled } from "../clients/programs.ts";

/** `install.ts` puts them here. */
export const JVM_FOLDER = Deno.env.get("SVC_TEST_JVM_ENGINES") ?? "/var/tmp/svc-test-jvm";
export const JARS = `${JVM_FOLDER}/jars`;
export const PYTHON = `${JVM_FOLDER}/python/bin/python`;
export const TRINO = `${JVM_FOLDER}/trino`;

/** Iceberg's runtimes for Spark 3.5, oldest first. The last reads our encodings vectorized. */
export const ICEBERG_VERSIONS = ["1.6.1", "1.9.2", "1.10.1", "1.12.0"] as const;
export type IcebergVersion = typeof ICEBERG_VERSIONS[number];

const TRINO_JAVA_MIN = 25;
const JDKS = "/usr/lib/jvm";

/** Runs a program to its end. Errors: an `Error` with what it said. */
export async function done(program: string, args: readonly string[]): Promise<void> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args] }).output();
  if (success) return;
  const said = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("\n");
  throw new Error(`${program} ${args.join(" ")}: ${said.slice(-2_000)}`);
}

/** Folder of a JDK that Trino runs on: `SVC_TEST_JDK`, or the first one of the system's. */
export async function modernJava(): Promise<string | undefined> {
  const named = Deno.env.get("SVC_TEST_JDK");
  if (named !== undefined) return named;
  try {
    for await (const { name } of Deno.readDir(JDKS)) {
      const release = await Deno.readTextFile(`${JDKS}/${name}/release`).catch(() => "");
      const version = /^JAVA_VERSION="(\d+)/m.exec(release)?.[1];
      if (Number(version) >= TRINO_JAVA_MIN) return `${JDKS}/${name}`;
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return undefined;
}

export const HAS_SPARK = await isInstalled(PYTHON) && await isInstalled("java", ["-version"]);
export const TRINO_JAVA = await isFile(`${TRINO}/classes/TrinoServer.class`)
  ? await modernJava()
  : undefined;

const CHOSEN = Deno.env.get("SVC_TEST_JVM")?.split(",");

/** Whether rows of an engine are run: all, or as `SVC_TEST_JVM=1.12.0,trino` says. */
export function isChosen(engine: IcebergVersion | "trino"): boolean {
  return CHOSEN === undefined || CHOSEN.includes(engine);
}

/** Why tests are ignored. */
export const NO_JVM = "ignored: not installed, see tests/engines_jvm/README.md";

async function isFile(path: string): Promise<boolean> {
  return (await Deno.stat(path).catch(() => undefined))?.isFile ?? false;
}
