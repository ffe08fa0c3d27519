import assert from "node:assert/strict";
import { readLogLines } from "../log_lines.ts";
import { type Answer, scopeOf, SYSTEM_QUESTIONS, type SystemQuestion } from "../question.ts";
import type { ShapeName } from "../shape.ts";
import { buildShape, SHAPE_NAMES } from "../shapes.ts";
import { SYSTEMS } from "./registry.ts";
import type { MeasuredSystem, SystemName } from "./system.ts";

const LINES = await readLogLines(undefined);

function questionsOf(system: MeasuredSystem, shape: ShapeName = "services") {
  return system.questions(scopeOf(buildShape(shape, LINES), 20_000));
}

function systemOf(name: SystemName): MeasuredSystem {
  const system = SYSTEMS.find((one) => one.name === name);
  assert.ok(system);
  return system;
}

/** What a question sends, and what it reads when `answers` come for its requests in turn. */
async function ask(
  name: SystemName,
  question: SystemQuestion,
  answers: readonly string[],
  shape: ShapeName = "services",
): Promise<{ readonly sent: string; readonly answer: Answer }> {
  const asked = questionsOf(systemOf(name), shape)[question];
  assert.ok(typeof asked !== "string", `${name} is not asked ${question}`);
  const sent: string[] = [];
  const read = await asked((path, body) => {
    sent.push(decodeURIComponent(`${path} ${body ?? ""}`.replaceAll("+", " ")));
    return Promise.resolve(answers[sent.length - 1] ?? "");
  });
  return { sent: sent.join("\n"), answer: read() };
}

for (const system of SYSTEMS) {
  Deno.test({
    name: `questions ${system.name}: each shape's names are in what is sent, and no hole is`,
    fn: async () => {
      for (const shape of SHAPE_NAMES) {
        const { subject } = scopeOf(buildShape(shape, LINES), 20_000);
        for (const question of SYSTEM_QUESTIONS) {
          const asked = questionsOf(system, shape)[question];
          if (typeof asked === "string") continue;
          const sent: string[] = [];
          await asked((path, body) => {
            sent.push(`${path} ${body ?? ""}`);
            return Promise.resolve('{"hits":{"hits":[]}}');
          }).catch(() => {}); // What is read of that answer is no matter here.
          const text = sent.join("\n");
          assert.ok(sent.length > 0, question);
          assert.doesNotMatch(text, /undefined|NaN|\[object/, question);
          const path = { top: subject.top, average: subject.number }[question as "top"];
          for (const name of path?.flatMap((part) => part.split(/[._]/)) ?? []) {
            assert.ok(text.includes(name), `${question} of ${shape} names ${name}: ${text}`);
          }
        }
      }
    },
  });
}

const MINUTE = 1_736_899_260_000;
const ANSWERS: readonly {
  readonly system: SystemName;
  readonly question: SystemQuestion;
  readonly answers: readonly string[];
  readonly sent: RegExp;
  readonly answer: readonly (readonly [string, number])[];
}[] = [
  {
    system: "svc",
    question: "minute",
    answers: ['{"rows":[["2025-01-15T00:01:00.000Z","WARN",7]]}'],
    sent: /date_trunc\('minute', timestamp\).*attr_get\(attributes, 'severity_text'\)/,
    answer: [["00:01 WARN", 7]],
  },
  {
    system: "victoria-logs",
    question: "minute",
    answers: ['{"_time":"2025-01-15T00:01:00Z","severity":"WARN","n":"7"}\n'],
    sent: /stats by \(_time:1m, severity\) count\(\) n/,
    answer: [["00:01 WARN", 7]],
  },
  {
    system: "clickhouse",
    question: "minute",
    answers: [`{"data":[[${MINUTE / 1_000},"WARN","7"]]}`],
    sent: /toStartOfMinute\(Timestamp\)/,
    answer: [["00:01 WARN", 7]],
  },
  {
    system: "opensearch",
    question: "minute",
    answers: [
      `{"aggregations":{"m":{"buckets":[{"key":${MINUTE},"doc_count":9,"s":{"buckets":` +
      '[{"key":"WARN","doc_count":7}]}}]}}}',
    ],
    sent: /"fixed_interval":"1m"/,
    answer: [["00:01 WARN", 7]],
  },
  {
    system: "loki",
    question: "minute",
    answers: [
      '{"data":{"result":[{"metric":{"severity_text":"WARN"},"values":' +
      `[[${(MINUTE + 60_000) / 1_000},"7"]]}]}}`,
    ],
    sent: /count_over_time\(\{service_name=~"\.\+"\}\[1m\] offset 1ms\)/,
    answer: [["00:01 WARN", 7]],
  },
  {
    system: "svc",
    question: "average",
    answers: ['{"rows":[["cart",1.5,9]]}'],
    sent: /avg\(attr_get\(attributes, 'duration_ms'\)::DOUBLE\)/,
    answer: [["cart avg", 1.5], ["cart p95", 9]],
  },
  {
    system: "victoria-logs",
    question: "average",
    answers: ['{"service.name":"cart","a":"1.5","p":"9"}\n'],
    sent: /quantile\(0\.95, "duration_ms"\)/,
    answer: [["cart avg", 1.5], ["cart p95", 9]],
  },
  {
    system: "loki",
    question: "average",
    answers: ["1.5", "9"].map((value) =>
      `{"data":{"result":[{"metric":{"service_name":"cart"},"value":[1,"${value}"]}]}}`
    ),
    sent: /avg_over_time.*unwrap duration_ms[\s\S]*quantile_over_time\(0\.95/,
    answer: [["cart avg", 1.5], ["cart p95", 9]],
  },
  {
    system: "opensearch",
    question: "average",
    answers: [
      '{"aggregations":{"g":{"buckets":[{"key":"cart","doc_count":2,"avg":{"value":1.5},' +
      '"p95":{"values":{"95.0":9}}}]}}}',
    ],
    sent: /"percentiles":\{"field":"attributes\.duration_ms"/,
    answer: [["cart avg", 1.5], ["cart p95", 9]],
  },
  {
    system: "clickhouse",
    question: "top",
    answers: ['{"data":[["u1","3"],["u2","5"]]}'],
    sent: /LogAttributes\['user\.id'\]/,
    answer: [["place 1", 5], ["place 2", 3]],
  },
];

for (const { system, question, answers, sent, answer } of ANSWERS) {
  Deno.test({
    name: `questions ${system}: asks for ${question} and reads the answer`,
    fn: async () => {
      const asked = await ask(system, question, answers);
      assert.match(asked.sent, sent);
      assert.deepEqual([...asked.answer], answer);
    },
  });
}

Deno.test({
  name: "questions name an attribute in nested objects as each system does",
  fn: async () => {
    const sent = async (name: SystemName) => {
      const nothing = name === "opensearch" ? '{"aggregations":{"g":{"buckets":[]}}}' : [
        '{"rows":[],"data":[]}',
        '{"data":{"result":[]}}',
      ][Number(name === "loki")] ?? "";
      return (await ask(name, "top", [nothing], "wide")).sent;
    };
    assert.match(await sent("svc"), /attributes->>'\$\.user\.id'/);
    assert.match(await sent("victoria-logs"), /top 10 by \("user\.id"\)/);
    assert.match(await sent("clickhouse"), /JSONExtractString\(LogAttributes\['user'\], 'id'\)/);
    assert.match(await sent("opensearch"), /"field":"attributes\.user\.id"/);
    assert.match(await sent("loki"), /sum by \(user_id\)/);
  },
});

Deno.test({
  name: "questions opensearch: 100,000 rows are fetched page by page, each behind the last",
  fn: async () => {
    const hit = (n: number) => `{"sort":[${n}]}`;
    const page = (...hits: readonly string[]) => `{"hits":{"hits":[${hits.join(",")}]}}`;
    const pages = [page(hit(1), hit(2)), page(hit(3)), page()];
    const { sent, answer } = await ask("opensearch", "rows", pages);
    assert.equal(answer.get(""), 3);
    assert.equal(sent.split("\n").length, 3);
    assert.match(sent, /"search_after":\[2\][\s\S]*"search_after":\[3\]/);
  },
});
