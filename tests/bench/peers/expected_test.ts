import assert from "node:assert/strict";
import { buildBody, fillBody } from "./body_template.ts";
import { expectedAnswers } from "./expected.ts";
import { readLogLines } from "./log_lines.ts";
import { type Answer, disagreement, type Scope, scopeOf, SYSTEM_QUESTIONS } from "./question.ts";
import type { Shape } from "./shape.ts";
import { buildShape, SHAPE_NAMES } from "./shapes.ts";

const LINES = await readLogLines(undefined);
const TOTAL = 4_000;
const BATCH = 500;

interface Document {
  readonly "@timestamp": number;
  readonly trace_id?: string;
  readonly severity: string;
  readonly service: string;
  readonly message: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

for (const name of SHAPE_NAMES) {
  Deno.test({
    name: `expectedAnswers ${name}: what a plain look through all documents finds`,
    fn: () => {
      const shape = buildShape(name, LINES);
      const scope = scopeOf(shape, TOTAL);
      const expected = expectedAnswers(shape, scope, TOTAL);
      const plain = plainAnswers(documents(shape), scope);
      for (const question of SYSTEM_QUESTIONS) {
        const found = plain[question];
        if (found === undefined) continue;
        assert.equal(disagreement(found, expected[question]), undefined, question);
      }
      assert.equal([...expected.rare.values()].reduce<number>((sum, n) => sum + Number(n), 0), 10);
      assert.equal(expected.top.size, 10);
      assert.ok(Number(expected.phrase.get("")) > 0 && Number(expected.regex.get("")) > 0);
    },
  });
}

function documents(shape: Shape): Document[] {
  return Array.from({ length: TOTAL / BATCH }, (_, i) => {
    const first = i * BATCH;
    const template = buildBody(shape, {
      form: "bulk",
      first: first % shape.templateRows,
      rows: BATCH,
    });
    const into = new Uint8Array(template.bytes.byteLength);
    const body = fillBody(template, { form: "bulk", first, total: TOTAL }, into);
    return new TextDecoder().decode(body).split("\n").filter((line) => line.includes("@timestamp"))
      .map((line): Document => JSON.parse(line));
  }).flat();
}

function plainAnswers(
  documents: readonly Document[],
  scope: Scope,
): Partial<Record<keyof ReturnType<typeof expectedAnswers>, Answer>> {
  const { subject } = scope;
  const at = (document: Document, path: readonly string[]) =>
    path.reduce<unknown>(
      (value, name) => (value as Record<string, unknown>)[name],
      document.attributes,
    );
  const count = (keep: (document: Document) => boolean): Answer =>
    new Map([["", documents.filter(keep).length]]);
  const group = (key: (document: Document) => string): Answer =>
    new Map(
      Object.entries(Object.groupBy(documents, key)).map(([name, own]) => [name, own?.length ?? 0]),
    );
  const ids = (keep: (document: Document) => boolean): Answer =>
    new Map(
      Object.entries(
        Object.groupBy(documents.filter(keep), ({ message }) =>
          /req=(\w{16})/.exec(message)?.[1] ?? ""),
      ).map(([id, own]) => [id, own?.length ?? 0]),
    );
  const tops = [...group((row) => String(at(row, subject.top))).values()].sort((a, b) => b - a);
  return {
    range: count((row) => row["@timestamp"] >= scope.fromMs && row["@timestamp"] < scope.toMs),
    service: group(({ service }) => service),
    minute: group((row) =>
      `${new Date(row["@timestamp"]).toISOString().slice(11, 16)} ${row.severity}`
    ),
    rare: ids(({ message }) => message.includes(scope.rareWord)),
    part: count(({ message }) => message.includes(scope.part)),
    phrase: count(({ message }) => message.includes(scope.phrase.join(" "))),
    regex: count(({ message }) => new RegExp(scope.regex).test(message)),
    lookup: ids((row) =>
      subject.lookup === "trace"
        ? row.trace_id === scope.traceId
        : at(row, subject.lookup.path) === scope.id
    ),
    newest: newest(documents, scope),
    top: new Map(tops.slice(0, 10).map((n, i) => [`place ${i + 1}`, n])),
    average: averages(documents, (row) => Number(at(row, subject.number))),
  };
}

function newest(documents: readonly Document[], { subject, newestRows }: Scope): Answer {
  const found = documents.filter(({ service, severity }) =>
    service === subject.newest.service && severity === subject.newest.severity
  ).toSorted((a, b) => b["@timestamp"] - a["@timestamp"]).slice(0, newestRows)
    .map(({ message }) => /req=(\w{16})/.exec(message)?.[1] ?? "");
  return new Map(found.map((id) => [id, found.filter((other) => other === id).length]));
}

function averages(documents: readonly Document[], number: (document: Document) => number): Answer {
  return new Map(
    Object.entries(Object.groupBy(documents, ({ service }) => service)).flatMap(
      ([service, own = []]): [string, number][] => {
        const values = own.map(number).sort((a, b) => a - b);
        const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
        return [
          [`${service} avg`, mean],
          [`${service} p95`, values[Math.ceil(values.length * 0.95) - 1] ?? NaN],
        ];
      },
    ),
  );
}
