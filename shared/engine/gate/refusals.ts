/**
 * The errors of the gate. `place` says where in the statement something stands, as `placeOf` of
 * `GateOptions` does.
 */

import { OperatingError } from "../../base/errors.ts";

/** Returns the error for a call that is not on the list. */
export function refusedFunction(name: string, place: string, remedy = ""): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot call ${JSON.stringify(name)}${place}: it is unknown or not allowed${remedy}`,
    { reason: "refused_function" },
  );
}

/** Returns the error for a form that is not on the list; `remedy` may say where it stands, too. */
export function refusedSyntax(what: string, remedy = ""): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot run the statement: ${what} is not allowed${remedy}`,
    { reason: "refused_syntax" },
  );
}

/** Returns the error for a relation of PostgreSQL's catalog that statements do not read. */
export function unknownRelation(name: string, place: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot read ${name}${place}: there is no such relation; tables and columns ` +
      "are in information_schema.tables and information_schema.columns",
    { reason: "unknown_table" },
  );
}

/**
 * Returns the error for a name in another namespace. It is alike for all names, so that nothing is
 * told of other namespaces.
 */
export function otherNamespace(
  name: string,
  { table, namespace, place }: {
    readonly table: string;
    readonly namespace: string;
    readonly place: string;
  },
): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot read table ${
      JSON.stringify(name)
    }${place}: there is no such table; statements read those of ` +
      `${namespace}: write ${table}, or ${namespace}.${table} in just these letters`,
    { reason: "unknown_table" },
  );
}

/**
 * Returns the error for a table that is not there. `known`: the tables there are, to name in the
 * message; `place`: where the name stands.
 */
export function unknownTable(
  name: string,
  { known, place }: { readonly known: readonly string[]; readonly place: string },
): OperatingError {
  const list = known.length === 0 ? "" : `; there are: ${known.join(", ")}`;
  return new OperatingError(
    "invalid_argument",
    `Cannot read table ${JSON.stringify(name)}${place}: there is no such table${list}`,
    { reason: "unknown_table" },
  );
}
