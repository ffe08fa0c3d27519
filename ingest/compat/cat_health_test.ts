import assert from "node:assert/strict";
import { isOperatingError } from "../../shared/base/errors.ts";
import { catHealth } from "./cat_health.ts";

/** 2026-11-20T21:04:05.999Z */
const NOW_MS = 1_795_208_645_999;

async function answer(query: string, accept?: string): Promise<string> {
  const headers = accept === undefined ? {} : { accept };
  const request = new Request("http://localhost/_cat/health", { headers });
  return await catHealth(request, query, NOW_MS).text();
}

const TEXTS: readonly { name: string; query: string; accept?: string; text: string }[] = [
  {
    name: "no option",
    query: "",
    text: "1795208645 21:04:05 svc green 1 1 0 0 0 0 0 0 - 100.0%\n",
  },
  {
    name: "v",
    query: "v",
    text:
      "epoch      timestamp cluster status node.total node.data shards pri relo init unassign " +
      "pending_tasks max_task_wait_time active_shards_percent\n" +
      "1795208645 21:04:05  svc     green           1         1      0   0    0    0        0 " +
      "            0                  -                100.0%\n",
  },
  { name: "v=false", query: "v=false&h=status", text: "green\n" },
  { name: "ts=false", query: "ts=false", text: "svc green 1 1 0 0 0 0 0 0 - 100.0%\n" },
  {
    name: "names in their order",
    query: "v=true&h=status,cluster",
    text: "status cluster\ngreen  svc\n",
  },
  { name: "aliases", query: "v&h=cl,nodeTotal", text: "cl  nodeTotal\nsvc         1\n" },
  { name: "an alias of two columns is the first's", query: "h=t", text: "1795208645\n" },
  {
    name: "patterns",
    query: "v&h=node.*,*s",
    text:
      "node.total node.data status shards pending_tasks\n         1         1 green       0             0\n",
  },
  { name: "a name that nobody knows", query: "v&h=heap,status", text: "status\ngreen\n" },
  { name: "JSON", query: "format=json&h=cluster,st", text: '[{"cluster":"svc","st":"green"}]' },
  {
    name: "JSON accepted",
    query: "h=status",
    accept: "application/json",
    text: '[{"status":"green"}]',
  },
  {
    name: "text accepted first",
    query: "h=status",
    accept: "text/plain, application/json",
    text: "green\n",
  },
  {
    name: "text wanted",
    query: "h=status&format=text",
    accept: "application/json",
    text: "green\n",
  },
  { name: "an option of others", query: "local=true&pretty&h=st", text: "green\n" },
];

for (const { name, query, accept, text } of TEXTS) {
  Deno.test({
    name: `catHealth() with ${name}`,
    fn: async () => assert.equal(await answer(query, accept), text),
  });
}

Deno.test({
  name: "catHealth() help has a line for each column of the row, with its aliases and meaning",
  async fn() {
    const lines = (await answer("help")).trimEnd().split("\n");
    const [row] = JSON.parse(await answer("format=json"));
    assert.deepEqual(lines.map((line) => line.split("|")[0]?.trim()), Object.keys(row));
    for (const line of lines) assert.match(line, /^[a-z_.]+ +\| [\w.,]+ +\| \w/);
    assert.equal(new Set(lines.map((line) => line.indexOf("|"))).size, 1, "one below the other");
  },
});

for (const query of ["v=yes", "help=1", "ts=0", "format=yaml"]) {
  Deno.test({
    name: `catHealth() refuses ${query} and names what there is`,
    fn: () =>
      assert.rejects(answer(query), (error) => {
        assert(isOperatingError(error, "invalid_argument"));
        assert.match(error.message, /(true or false|json or text)$/);
        return true;
      }),
  });
}
