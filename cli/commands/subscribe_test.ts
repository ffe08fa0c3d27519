/** `svc subscribe --metrics-bind` as whoever scrapes it sees it, while rows are delivered. */

import assert from "node:assert/strict";
import { freePort } from "../../shared/testing/free_ports.ts";
import { COMMANDS } from "../commands.ts";
import { eventLines, runRecorded } from "../recorded_run.ts";
import { RecordingConsole } from "../recording_console.ts";
import { runCommand } from "../run_command.ts";

const ROWS = 20;

Deno.test({
  name: "subscribe serves its metrics as every role does, and none to the pages of others",
  async fn() {
    const dataDir = await Deno.makeTempDir({ prefix: "svc-subscribe-" });
    try {
      const lines = eventLines(ROWS, { seed: 1, firstNs: BigInt(Date.now()) * 1_000_000n });
      await runRecorded(dataDir, "ingest", [], lines);
      const bind = `127.0.0.1:${freePort()}`;
      const seen: { text?: string; ofPage?: number } = {};
      const recording = new RecordingConsole();
      const console = {
        input: recording.input,
        notes: recording.notes,
        output: {
          ...recording.output,
          async write(text: string) {
            const url = `http://${bind}/metrics`;
            seen.text ??= await (await fetch(url)).text();
            const answer = await fetch(url, { headers: { origin: "https://evil.example" } });
            await answer.body?.cancel();
            seen.ofPage ??= answer.status;
            await recording.output.write(text);
          },
        },
      };
      const argv = ["subscribe", "--data-dir", dataDir, "--table", "events", "--once"];
      const status = await runCommand([...argv, "--metrics-bind", bind], {
        ...{ commands: COMMANDS, console },
        env: () => undefined,
      });
      assert.deepEqual([status, recording.notesText], [0, ""]);
      assert.equal(recording.outputText.trimEnd().split("\n").length, ROWS);
      assert.match(seen.text ?? "", /^svc_subscription_history_gap_total 0$/m);
      assert.match(seen.text ?? "", /^svc_http_connections\{listener="metrics"\} 1$/m);
      assert.match(seen.text ?? "", /^svc_build_info\{.*role="subscribe"\} 1$/m);
      assert.equal(seen.ofPage, 403);
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});
