/** The jars of an artifact and of all that it needs, from the repository of the machine's Maven. */

import { join } from "node:path";
import { runTool } from "./run_tool.ts";

export interface MavenArtifact {
  readonly group: string;
  readonly artifact: string;
  readonly version: string;
}

const SECS_MAX = 900;

/** The folder of jars below `folder`; they are fetched unless they are there. */
export async function fetchMavenJars(
  artifact: MavenArtifact,
  folder: string,
  tell: (line: string) => void,
): Promise<string> {
  const jars = join(folder, `jars-${artifact.version}`);
  if (await Deno.stat(jars).then(() => true, () => false)) return jars;
  tell(`${artifact.artifact} ${artifact.version}: fetching the jars`);
  await Deno.writeTextFile(join(folder, "pom.xml"), pomText(artifact));
  const fetched = `${jars}.new`;
  await runTool(
    "mvn",
    ["-q", "-B", "dependency:copy-dependencies", `-DoutputDirectory=${fetched}`],
    { cwd: folder, secs: SECS_MAX },
  );
  await Deno.rename(fetched, jars);
  return jars;
}

/** A project that does nothing but need the artifact. */
export function pomText({ group, artifact, version }: MavenArtifact): string {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>bench</groupId>
  <artifactId>node</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>${group}</groupId>
      <artifactId>${artifact}</artifactId>
      <version>${version}</version>
    </dependency>
  </dependencies>
</project>
`;
}
