/** What is wrong with a form that deletes rows, before the server is asked. */

import type { DeleteWish } from "./table_client.ts";

export interface DeleteFault {
  readonly place: "predicate" | "from" | "to";
  readonly message: string;
}

/** Judges what the server would refuse, at its field. The predicate is the server's to judge. */
export function faultOf({ predicate, from, to }: DeleteWish): DeleteFault | undefined {
  if (predicate.trim() === "") {
    return { place: "predicate", message: "Say which rows: true means all of them." };
  }
  for (const [place, text] of [["from", from], ["to", to]] as const) {
    if (text === "" || isInstant(text)) continue;
    return { place, message: "Write a time such as 2026-11-20T00:00:00Z, or leave it empty." };
  }
  if (from !== "" && to !== "" && Date.parse(from) >= Date.parse(to)) {
    return { place: "to", message: "The end is not after the beginning." };
  }
  return undefined;
}

function isInstant(text: string): boolean {
  const shape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
  return shape.test(text) && !Number.isNaN(Date.parse(text));
}
