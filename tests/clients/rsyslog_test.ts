/**
 * Debian's rsyslog with its omelasticsearch module against a started ingest server, by the
 * configuration of docs/send.md.
 *
 * Not covered: a request refused as a whole (503, 429). This module drops the batch then, whoever
 * answers so.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { until } from "../../shared/testing/until.ts";
import {
  assertEachLineOnce,
  type Shipper,
  type ShipperPlaces,
  shipThroughRefusals,
} from "./log_shipper.ts";
import { pageConfiguration } from "./page_configuration.ts";
import { isInstalled } from "./programs.ts";
import { RunningIngest } from "./running_ingest.ts";

const RSYSLOG: Shipper = {
  refusal: "away",
  command: (places) => rsyslog(places),
};

/** rsyslog by the page's configuration, with `changes` to it. */
async function rsyslog(
  { dir, input, url }: ShipperPlaces,
  changes: Readonly<Record<string, string>> = {},
): Promise<Deno.Command> {
  const file = join(dir, "rsyslog.conf");
  await Deno.writeTextFile(
    file,
    await pageConfiguration("rsyslog", {
      "/var/spool/rsyslog": dir,
      "/var/log/app.log": input,
      "/var/log/rsyslog-refused.json": join(dir, "refused.json"),
      "http://svc.example:8088/api/v1/_compat": url,
      'resumeInterval="10"': 'resumeInterval="1"',
      'dequeueBatchSize="500"': 'dequeueBatchSize="20"',
      ...changes,
    }),
  );
  return new Deno.Command("rsyslogd", {
    args: ["-n", "-f", file, "-i", join(dir, "pid")],
    stdout: "null",
    stderr: "piped",
  });
}

const MODULE_PLACES = ["/usr/lib/x86_64-linux-gnu/rsyslog", "/usr/lib/aarch64-linux-gnu/rsyslog"];

async function hasModule(): Promise<boolean> {
  for (const place of MODULE_PLACES) {
    const found = await Deno.stat(join(place, "omelasticsearch.so")).catch(() => undefined);
    if (found !== undefined) return true;
  }
  return false;
}

const isThere = await isInstalled("rsyslogd", ["-v"]) && await hasModule();
const absent = isThere ? "" : " (ignored: rsyslog-elasticsearch is not installed)";

Deno.test({
  name:
    `rsyslog suspends while nothing listens, before and between, resumes, and stores each line once${absent}`,
  ignore: absent !== "",
  fn: async () => {
    const rows = await shipThroughRefusals(RSYSLOG);
    assertEachLineOnce(rows);
    assert.ok(
      rows.every((row) => row.lane === "default/syslog" && row.columns.sourcetype === "app"),
    );
  },
});

Deno.test({
  name:
    `rsyslog stores the other lines of a batch once, and keeps the refused one in its file${absent}`,
  ignore: absent !== "",
  fn: async () => {
    const dir = await Deno.makeTempDir({ prefix: "svc-shipper-" });
    await using ingest = await RunningIngest.start();
    const input = join(dir, "input.log");
    await Deno.writeFile(input, new TextEncoder().encode("first\nbad \nthird\n").with(9, 0xff));
    const places = { dir, input, url: `${ingest.url}/api/v1/_compat` };
    const unmended = { 'action(type="mmutf8fix" mode="utf-8")\n': "" };
    const process = (await rsyslog(places, unmended)).spawn();
    try {
      const refused = join(dir, "refused.json");
      await until(() => Deno.readTextFile(refused).then((text) => text !== "", () => false));
      // A line that rsyslog sends again is sent before this one.
      await Deno.writeTextFile(input, "last\n", { append: true });
      const raws = async () => (await ingest.rows()).map(({ columns }) => columns.raw);
      await until(async () => (await raws()).includes("last"));
      assert.deepEqual((await raws()).sort(), ["first", "last", "third"]);
      assert.match(await Deno.readTextFile(refused), /it is not UTF-8/);
    } finally {
      process.kill("SIGKILL");
      await process.stderr.cancel();
      await process.status;
      await Deno.remove(dir, { recursive: true });
    }
  },
});
