/**
 * Debian's rsyslog with its omelasticsearch module against a started ingest server, by the
 * configuration of docs/send.md.
 *
 * Not covered: a request refused as a whole (503, 429). This module drops the batch then, whoever
 * answers so.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { assertEachLineOnce, type Shipper, shipThroughRefusals } from "./log_shipper.ts";
import { pageConfiguration } from "./page_configuration.ts";
import { isInstalled } from "./programs.ts";

const RSYSLOG: Shipper = {
  refusal: "away",
  command: async ({ dir, input, url }) => {
    const file = join(dir, "rsyslog.conf");
    await Deno.writeTextFile(
      file,
      await pageConfiguration("rsyslog", {
        "/var/spool/rsyslog": dir,
        "/var/log/app.log": input,
        "http://svc.example:8088/api/v1/_compat": url,
        'resumeInterval="10"': 'resumeInterval="1"',
        'dequeueBatchSize="500"': 'dequeueBatchSize="20"',
      }),
    );
    return new Deno.Command("rsyslogd", {
      args: ["-n", "-f", file, "-i", join(dir, "pid")],
      stdout: "null",
      stderr: "piped",
    });
  },
};

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
