/**
 * Debian's syslog-ng with its elasticsearch-http destination against a started ingest server, by
 * the configuration of docs/send.md.
 *
 * Its package and rsyslog's exclude each other, so it may lie unpacked in a folder of its own:
 * `SVC_TEST_SYSLOG_NG`.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { assertEachLineOnce, type Shipper, shipThroughRefusals } from "./log_shipper.ts";
import { pageConfiguration } from "./page_configuration.ts";
import { isInstalled } from "./programs.ts";

const ROOT = Deno.env.get("SVC_TEST_SYSLOG_NG") ?? "/";
const PROGRAM = join(ROOT, "usr/sbin/syslog-ng");
const LIBRARIES = join(ROOT, "usr/lib/syslog-ng");
const DESTINATION = join(ROOT, "usr/share/syslog-ng/include/scl/elasticsearch/elastic-http.conf");
const VERSION = "3.38";

const SYSLOG_NG: Shipper = {
  refusal: "busy",
  command: async ({ dir, input, url }) => {
    const file = join(dir, "syslog-ng.conf");
    await Deno.writeTextFile(
      file,
      await pageConfiguration("syslog-ng", {
        "@version: 3.38": `@version: ${VERSION}`,
        "scl/elasticsearch/elastic-http.conf": DESTINATION,
        "/var/log/app.log": input,
        "http://svc.example:8088/api/v1/_compat": url,
        "follow-freq(1)": "follow-freq(0.2)",
        "time-reopen(10)": "time-reopen(1)",
        "batch-lines(500) batch-timeout(1000)": "batch-lines(20) batch-timeout(100)",
      }),
    );
    return new Deno.Command(PROGRAM, {
      args: [
        ...["-F", "--stderr", "--no-caps", "-f", file],
        ...["--module-path", join(LIBRARIES, VERSION)],
        ...["--persist-file", join(dir, "persist"), "--pidfile", join(dir, "pid")],
        ...["--control", join(dir, "control")],
      ],
      env: { LD_LIBRARY_PATH: LIBRARIES },
      stdout: "null",
      stderr: "piped",
    });
  },
};

const isThere = await isInstalled("/bin/sh", ["-c", `test -x ${PROGRAM} -a -f ${DESTINATION}`]);
const absent = isThere ? "" : " (ignored: syslog-ng is not installed)";

Deno.test({
  name:
    `syslog-ng waits while nothing listens or 503 is answered, and stores each line once${absent}`,
  ignore: absent !== "",
  fn: async () => {
    const rows = await shipThroughRefusals(SYSLOG_NG);
    assertEachLineOnce(rows);
    assert.ok(
      rows.every((row) => row.lane === "default/syslog" && row.columns.sourcetype === "app"),
    );
  },
});
