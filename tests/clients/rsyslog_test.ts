/**
 * Debian's rsyslog with its omelasticsearch module against a started ingest server.
 *
 * Not covered: a request refused as a whole (503, 429). This module drops the batch then, whoever
 * answers so.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { assertEachLineOnce, type Shipper, shipThroughRefusals } from "./log_shipper.ts";
import { isInstalled } from "./programs.ts";

const RSYSLOG: Shipper = {
  refusal: "away",
  command: async ({ dir, input, url }) => {
    const file = join(dir, "rsyslog.conf");
    await Deno.writeTextFile(
      file,
      `global(workDirectory="${dir}")
module(load="imfile")
module(load="omelasticsearch")
template(name="document" type="list" option.jsonf="on") {
  property(outname="@timestamp" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="sourcetype" name="syslogtag" format="jsonf")
  property(outname="message" name="msg" format="jsonf")
}
input(type="imfile" file="${input}" tag="app")
action(type="omelasticsearch" server="${url}" searchIndex="syslog" searchType="" template="document"
  bulkmode="on" retryfailures="on" action.resumeRetryCount="-1" action.resumeInterval="1"
  queue.type="LinkedList" queue.dequeueBatchSize="20")
`,
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
