/**
 * What a shape of data is. A row is a template, which repeats, with what its own number decides
 * (`row_numbers.ts`). A template has marks in those places. Encoders treat marks as any other
 * value, and `body_template.ts` finds them in the encoded bytes.
 */

export type ShapeName = "services" | "lines" | "wide";

/** Numbers are whole, but for `MARKS.duration`. */
export type AttributeValue = string | number | boolean | AttributeMap;
export interface AttributeMap {
  readonly [name: string]: AttributeValue;
}

export interface TemplateRow {
  readonly service: string;
  readonly host: string;
  readonly severity: Severity;
  /** With `MARKS.id` in it. */
  readonly body: string;
  readonly attributes: AttributeMap;
}

export interface Severity {
  /** OpenTelemetry's number. */
  readonly number: number;
  readonly text: string;
}

/** What the questions name in a shape. */
export interface Subject {
  /** The path of an attribute with many values. */
  readonly top: readonly string[];
  /** The path of an attribute with a number. */
  readonly number: readonly string[];
  /** What a single row, or those of a trace, are found by. */
  readonly lookup: "trace" | { readonly path: readonly string[] };
  readonly newest: { readonly service: string; readonly severity: string };
}

export interface Shape {
  readonly name: ShapeName;
  readonly summary: string;
  /** So many rows have templates of their own. A multiple of each request's rows. */
  readonly templateRows: number;
  readonly hasTrace: boolean;
  readonly subject: Subject;
  /** `index` from 0 to `templateRows - 1`. */
  template(index: number): TemplateRow;
}

/** So many rows, side by side, share a service and a host. Requests have a multiple of them. */
export const RESOURCE_ROWS = 25;

/** Values that stand where the number of a row decides. They occur nowhere else. */
export const MARKS = {
  id: "zqIDENTIFIERqzxx",
  duration: 8888.7777,
  timeNs: 9_111_111_111_111_111_119n,
  trace: "f7e3a1c59b8d42066024d8b95c1a3e7f",
  span: "c3b59e71d8240f6a",
} as const;
