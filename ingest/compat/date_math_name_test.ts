import assert from "node:assert/strict";
import { resolvedName } from "./date_math_name.ts";

const NOW_MS = Date.UTC(2026, 0, 2, 23, 59);

Deno.test({
  name:
    "resolvedName puts the day in UTC into what Logstash calls its index, and leaves other names",
  fn() {
    for (
      const [text, name] of [
        ["<ecs-logstash-{now/d}-000001>", "ecs-logstash-2026.01.02-000001"],
        ["<logs-{now}>", "logs-2026.01.02"],
        ["<logs-{now/M{yyyy.MM}}>", "logs-2026.01"],
        ["<logs-{now/d{yyyy-MM-dd}}-1>", "logs-2026-01-02-1"],
        ["<logs-{now-1d}>", "<logs-{now-1d}>"],
        ["<logs>", "<logs>"],
        ["logs", "logs"],
        ["", ""],
      ] as const
    ) assert.equal(resolvedName(text, NOW_MS), name);
  },
});
