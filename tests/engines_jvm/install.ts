/**
 * Obtains the engines of the JVM, each of one version: PySpark from PyPI, Iceberg's runtimes and
 * Trino from Maven. What is there already stays. `deno task engines` runs it before its tests.
 */

import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { isInstalled } from "../clients/programs.ts";
import { done, ICEBERG_VERSIONS, JARS, JVM_FOLDER, modernJava, PYTHON, TRINO } from "./places.ts";

const PYSPARK = "pyspark==3.5.9";
const MAVEN = ["-q", "-B"];
const HERE = new URL(".", import.meta.url).pathname;

if (import.meta.main) await install();

async function install(): Promise<void> {
  await Deno.mkdir(JARS, { recursive: true });
  if (!await isInstalled("mvn") || !await isInstalled("java", ["-version"])) {
    say("No mvn or java: the rows of the JVM are ignored.");
    return;
  }
  await once("PySpark", PYTHON, installPyspark);
  for (const version of ICEBERG_VERSIONS) {
    await ensureJar("org.apache.iceberg", "iceberg-spark-runtime-3.5_2.12", version);
  }
  await ensureJar("org.apache.iceberg", "iceberg-aws-bundle", "1.10.1");
  await ensureJar("org.xerial", "sqlite-jdbc", "3.50.3.0");
  const java = await modernJava();
  if (java === undefined) say("No JDK of 25 or later: Trino is ignored.");
  else await once("Trino", `${TRINO}/classes/TrinoServer.class`, () => installTrino(java));
}

async function installPyspark(): Promise<void> {
  await done("python3", ["-m", "venv", `${JVM_FOLDER}/python`]);
  await done(PYTHON, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PYSPARK]);
}

async function ensureJar(group: string, name: string, version: string): Promise<void> {
  await once(`${name} ${version}`, `${JARS}/${name}-${version}.jar`, () =>
    done("mvn", [
      ...[...MAVEN, "dependency:copy", `-Dartifact=${group}:${name}:${version}`],
      `-DoutputDirectory=${JARS}`,
    ]));
}

/**
 * Maven has Trino's parts but no archive of the server: its jars, those of the Iceberg plugin with
 * the name of its class, and a `main` that starts it.
 */
async function installTrino(java: string): Promise<void> {
  const folders = { server: `${TRINO}/server`, iceberg: `${TRINO}/plugins/iceberg` };
  for (const [part, folder] of Object.entries(folders)) {
    await done("mvn", [
      ...[...MAVEN, "-f", `${HERE}trino/${part}.xml`, "dependency:copy-dependencies"],
      ...["-DincludeScope=runtime", `-DoutputDirectory=${folder}`],
    ]);
  }
  const services = `${TRINO}/services/META-INF/services`;
  await Deno.mkdir(services, { recursive: true });
  const plugin = "io.trino.plugin.iceberg.IcebergPlugin\n";
  await Deno.writeTextFile(`${services}/io.trino.spi.Plugin`, plugin);
  const jar = ["cf", `${folders.iceberg}/services.jar`, "-C", `${TRINO}/services`, "."];
  await done(`${java}/bin/jar`, jar);
  await done(`${java}/bin/javac`, [
    ...["-cp", `${folders.server}/*`, "-d", `${TRINO}/classes`, `${HERE}trino/TrinoServer.java`],
  ]);
}

async function once(what: string, path: string, make: () => Promise<void>): Promise<void> {
  if (await new DenoFileSystem().exists(path)) return;
  say(`Installing ${what}…`);
  await make();
}

function say(line: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
}
