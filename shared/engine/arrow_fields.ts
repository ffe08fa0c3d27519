/** Types of the columns of an answer that goes out as Arrow. */

/** A type as Arrow has it. It crosses to DuckDB's process as JSON. */
export type ArrowType =
  | { readonly kind: "bool" | "float" | "double" | "utf8" | "binary" | "date" | "time" }
  | { readonly kind: "int"; readonly bytes: 1 | 2 | 4 | 8; readonly isSigned: boolean }
  | {
    readonly kind: "decimal";
    readonly precision: number;
    readonly scale: number;
    /** Bytes of a value in DuckDB; in Arrow it has 16. */
    readonly bytes: 2 | 4 | 8 | 16;
  }
  | { readonly kind: "timestamp"; readonly unit: ArrowUnit; readonly zone?: string }
  | { readonly kind: "list"; readonly item: ArrowType }
  | { readonly kind: "struct"; readonly fields: readonly ArrowField[] }
  | { readonly kind: "map"; readonly key: ArrowType; readonly value: ArrowType };

export type ArrowUnit = "ms" | "us" | "ns";

export interface ArrowField {
  readonly name: string;
  readonly type: ArrowType;
}
