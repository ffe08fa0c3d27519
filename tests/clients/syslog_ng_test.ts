/**
 * Debian's syslog-ng with its elasticsearch-http destination against a started ingest server.
 *
 * Its package and rsyslog's exclude each other, so it may lie unpacked in a folder of its own:
 * `SVC_TEST_SYSLOG_NG`.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { assertEachLineOnce, type Shipper, shipThroughRefusals } from "./log_shipper.ts";
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
      `@version: ${VERSION}
@include "${DESTINATION}"
source lines { file("${input}" flags(no-parse) follow-freq(0.2)); };
destination bulk {
  elasticsearch-http(url("${url}/_bulk") index("syslog") type("") time-reopen(1)
    batch-lines(20) batch-timeout(100)
    template("$(format-json message=$MESSAGE host=$HOST sourcetype=app)"));
};
log { source(lines); destination(bulk); };
`,
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
