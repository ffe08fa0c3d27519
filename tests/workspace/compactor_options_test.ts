/**
 * `svc compactor` and `svc ingest-server --with-compactor` are one compactor: the same options do
 * the same.
 */

import assert from "node:assert/strict";
import { COMMANDS } from "../../cli/commands.ts";
import { embeddedSettings, idleWork, OPTIONS, WORK_OPTIONS } from "../../compactor/mod.ts";
import { present } from "../../shared/base/assert.ts";
import type { OptionSpec, OptionTable } from "../../shared/config/options.ts";
import { helpText, parseOptions } from "../../shared/config/parse_options.ts";

/**
 * Options of a process of its own: the ingest server has the first ones itself, and none of the
 * others.
 */
const OF_THE_HOST = [
  ...["dataDir", "wal", "warehouse", "warehouseUrl", "catalogUri", "walMirrorPrefix"],
  ...["endWithStdin", "logLevel", "corsOrigins", "allowedHosts", "metricsTenantLabels"],
];
const OF_THE_PROCESS = [
  ...["role", "walOnly", "once", "intervalSecs", "metricsBind", "memoryBytes"],
  ...["catalogClaim", "claimLeaseSecs", "claimAttemptsMax", "requeueQuarantined"],
];

Deno.test({
  name: "every option of the compactor is one of its work, or is named here as one of the process",
  fn() {
    const named = [...Object.keys(WORK_OPTIONS), ...OF_THE_HOST, ...OF_THE_PROCESS];
    assert.deepEqual(Object.keys(OPTIONS).sort(), named.sort());
  },
});

Deno.test({
  name: "svc ingest-server takes and shows every option of the compactor's work",
  async fn() {
    const options = await optionsOf("ingest-server");
    const help = helpText({ name: "svc ingest-server", summary: "", options });
    for (const [name, option] of Object.entries<OptionSpec>(WORK_OPTIONS)) {
      assert.equal(options[name], option, name);
      assert.ok(help.includes(`--${option.flag} `), `--help shows no --${option.flag}`);
      if (option.env !== undefined) assert.ok(help.includes(option.env), option.env);
    }
    for (const name of OF_THE_HOST) assert.ok(name in options, name);
  },
});

for (const [name, option] of Object.entries<OptionSpec>(WORK_OPTIONS)) {
  Deno.test({
    name: `--${option.flag} means the same in svc compactor and with --with-compactor`,
    async fn() {
      const value = otherValue(option);
      const args = [`--${option.flag}=${value}`];
      const settings = parseOptions(await optionsOf("ingest-server"), args, () => undefined);
      const embedded = embeddedSettings(
        settings as unknown as Parameters<typeof embeddedSettings>[0],
      );
      const own = parseOptions(OPTIONS, args, () => undefined);
      assert.deepEqual(Object.entries(embedded).find(([key]) => key === name), [name, value]);
      for (
        const key of [...Object.keys(WORK_OPTIONS), ...OF_THE_PROCESS] as (keyof typeof OPTIONS)[]
      ) {
        assert.deepEqual(embedded[key], own[key], key);
      }
    },
  });
}

Deno.test({
  name: "an option of the compactor's work is told of where it does nothing",
  fn() {
    const parsed = (args: string[]) => parseOptions(WORK_OPTIONS, args, () => undefined);
    assert.deepEqual(idleWork(parsed([])), []);
    for (const option of Object.values<OptionSpec>(WORK_OPTIONS)) {
      const [told = "", ...more] = idleWork(parsed([`--${option.flag}=${otherValue(option)}`]));
      assert.match(told, new RegExp(`^--${option.flag} has no effect: .*--with-compactor`));
      assert.deepEqual(more, []);
    }
  },
});

async function optionsOf(command: string): Promise<OptionTable> {
  const entry = present(COMMANDS.find(({ name }) => name === command), command);
  return (await entry.load()).options;
}

/** One that is not the default. */
function otherValue(option: OptionSpec): string | number {
  if (option.kind === "integer") return option.default === option.min ? option.max : option.min;
  assert.equal(option.kind, "text", option.flag);
  return "off";
}
