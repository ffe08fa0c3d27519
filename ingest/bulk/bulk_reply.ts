/**
 * The body of a bulk reply: docs/clients.md#a-bulk-reply-that-all-accept, to the byte. Compact,
 * `errors` right before `items`, an item per action in order, each with one member named as the
 * action that was sent.
 *
 * Items say only what clients read: Fluent Bit's buffer for the whole reply is 512 KB.
 */

import { othersTurn } from "../../shared/base/others_turn.ts";
import type { BulkItem } from "./bulk_items.ts";
import type { ItemFields, ReplyFields } from "./filter_path.ts";

export interface BulkReply {
  readonly tookMs: number;
  readonly items: readonly BulkItem[];
}

/** Others get a turn on the way: 200,000 items take a quarter of a second. */
export async function bulkReplyText(reply: BulkReply, fields: ReplyFields): Promise<string> {
  const members: string[] = [];
  if (fields.took) members.push(`"took":${reply.tookMs}`);
  if (fields.errors) {
    members.push(`"errors":${reply.items.some((item) => item.error !== undefined)}`);
  }
  const items = await itemsText(reply.items, fields);
  if (items !== "") members.push(`"items":[${items}]`);
  return `{${members.join(",")}}`;
}

/** A text that is put together from pieces keeps them all until it is joined. */
const ITEMS_JOINED = 1_024;
/** So many of them take some 10 ms. */
const JOINED_PER_TURN = 8;

/** Items of which the filter leaves nothing are left out, as in the original. */
async function itemsText(items: readonly BulkItem[], fields: ReplyFields): Promise<string> {
  const names = new QuotedNames();
  const parts: string[] = [];
  let texts: string[] = [];
  for (const item of items) {
    const members = itemText(item, { fields: fields.items[item.action], names });
    if (members === "") continue;
    texts.push(`{"${item.action}":{${members}}}`);
    if (texts.length < ITEMS_JOINED) continue;
    parts.push(texts.join(","));
    texts = [];
    if (parts.length % JOINED_PER_TURN === 0) await othersTurn();
  }
  if (texts.length > 0) parts.push(texts.join(","));
  return parts.join(",");
}

interface ItemContext {
  readonly fields: ItemFields;
  readonly names: QuotedNames;
}

function itemText(item: BulkItem, { fields, names }: ItemContext): string {
  const { error } = item;
  let text = "";
  if (fields.index) text = `"_index":${names.quoted(item.index)}`;
  if (fields.id) text += `${text === "" ? "" : ","}"_id":${JSON.stringify(item.id)}`;
  if (fields.status) text += `${text === "" ? "" : ","}"status":${error?.status ?? 201}`;
  if (error === undefined || !(fields.errorType || fields.errorReason)) return text;
  const type = fields.errorType ? `"type":${JSON.stringify(error.type)}` : "";
  const reason = fields.errorReason ? `"reason":${JSON.stringify(error.reason)}` : "";
  const separator = type === "" || reason === "" ? "" : ",";
  return `${text}${text === "" ? "" : ","}"error":{${type}${separator}${reason}}`;
}

/** Items in a row mostly have the same index. */
class QuotedNames {
  #name: string | undefined;
  #quoted = "";

  quoted(name: string): string {
    if (name !== this.#name) {
      this.#name = name;
      this.#quoted = JSON.stringify(name);
    }
    return this.#quoted;
  }
}
