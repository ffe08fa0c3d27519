/**
 * A bulk body, while it arrives → one batch per index, and what is known of each action so far.
 *
 * A document that cannot be stored is refused by itself; an action line that is none refuses the
 * request. Nothing here is stored: the batches are what there is to append.
 */

import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { STRICT_MAPPING } from "../../shared/document/mapped_values.ts";
import { indexNameFault } from "../index_name.ts";
import { type ActionLine, ActionLines, type BulkAction } from "./action_line.ts";
import { forEachLine, type LineFault } from "./body_lines.ts";
import type { BulkItem, ItemError } from "./bulk_items.ts";
import type { DocumentBuilder, DocumentBuilders } from "./document_builders.ts";

/** Most indexes of one request; documents of further ones are to be sent again. */
export const REQUEST_INDEXES_MAX = 64;
/**
 * Most actions of one request: each costs memory, and an item of the reply, however short its line
 * is.
 */
export const REQUEST_ACTIONS_MAX = 200_000;
/**
 * What an action costs in memory until its request is answered, its part of the reply included;
 * measured.
 */
const ACTION_BYTES = 1_024;
/** What a refusal costs in memory, which the reply has as a text with each action; measured. */
const REFUSAL_BYTES = 1_024;
/** Actions and refusals are charged by so many at a time. */
const CHARGED_AT_ONCE = 64;

export interface BulkOptions {
  readonly tenant: string;
  /** Index of actions that name none: from the path. */
  readonly pathIndex: string | undefined;
  readonly nowNs: bigint;
  /** Begins the ids of documents that the client gave none; unique to this request. */
  readonly idPrefix: string;
  readonly builders: DocumentBuilders;
  /** Told of memory that the request takes beside its body. Errors end the request. */
  readonly charge: (bytes: number) => void;
}

/** All documents of one index. */
export interface IndexRows {
  readonly index: string;
  readonly batch: ColumnBatch;
  /** The documents' actions, in the batch's order. */
  readonly items: readonly BulkItem[];
}

export interface DecodedBulk {
  /** One per action, in the request's order. */
  readonly items: readonly BulkItem[];
  readonly indexes: readonly IndexRows[];
}

/**
 * Errors: those of `body` and of `charge`; `invalid_argument` for one without actions and for a
 * malformed action line; `too_large` for more actions than `REQUEST_ACTIONS_MAX`.
 */
export async function decodeBulk(
  body: AsyncIterable<Uint8Array>,
  options: BulkOptions,
): Promise<DecodedBulk> {
  const decoder = new BulkDecoder(options);
  try {
    await forEachLine(body, (text, line) => decoder.line(text, line));
    return decoder.finish();
  } catch (error) {
    decoder.abandon();
    throw error;
  }
}

/** Decodes one action and its document, which is `text`. Errors: those of `decodeBulk`. */
export function decodeDocument(
  text: string | LineFault,
  action: ActionLine,
  options: BulkOptions,
): DecodedBulk {
  const decoder = new BulkDecoder(options);
  try {
    decoder.one(action, text);
    return decoder.finish();
  } catch (error) {
    decoder.abandon();
    throw error;
  }
}

interface OpenIndex {
  readonly builder: DocumentBuilder;
  readonly items: BulkItem[];
}

class BulkDecoder {
  readonly #options: BulkOptions;
  /**
   * Every item of the reply may repeat it: one that no index can have is not kept at any length.
   */
  readonly #pathIndex: string;
  readonly #actions = new ActionLines();
  readonly #items: BulkItem[] = [];
  #refusals = 0;
  readonly #indexes = new Map<string, OpenIndex>();
  /** The fault, if any, of each name seen in this request. */
  readonly #faults = new Map<string, ItemError | undefined>();
  /** The action that waits for its document. */
  #pending: BulkItem | undefined;
  #pendingHasId = false;

  constructor(options: BulkOptions) {
    this.#options = options;
    this.#pathIndex = shortened(options.pathIndex ?? "");
  }

  line(text: string | LineFault, line: number): void {
    if (this.#pending === undefined) this.#action(this.#actions.parse(text, line));
    else this.#take(text, line);
  }

  one(action: ActionLine, text: string | LineFault): void {
    this.#action(action);
    this.#take(text, 1);
  }

  /** The document of the action that waits for it. */
  #take(text: string | LineFault, line: number): void {
    const item = this.#pending;
    if (item === undefined) return;
    this.#pending = undefined;
    if (item.error === undefined) this.#document(item, { text, line });
  }

  finish(): DecodedBulk {
    if (this.#pending !== undefined) {
      throw refusal("the last action has no document: nothing of this request was stored");
    }
    if (this.#items.length === 0) throw refusal("the request body has no action", "empty_body");
    const indexes = Array.from(
      this.#indexes,
      ([index, { builder, items }]) => ({ index, batch: builder.finish(), items }),
    );
    // After all of them: one that fails has `abandon` give back each, and none may be given back
    // twice.
    for (const { builder } of this.#indexes.values()) this.#options.builders.giveBack(builder);
    return { items: this.#items, indexes: indexes.filter(({ batch }) => batch.rows > 0) };
  }

  abandon(): void {
    for (const { builder } of this.#indexes.values()) {
      builder.clear();
      this.#options.builders.giveBack(builder);
    }
  }

  #action({ action, index, id }: ActionLine): void {
    if (this.#items.length === REQUEST_ACTIONS_MAX) throw tooManyActions();
    if (this.#items.length % CHARGED_AT_ONCE === 0) {
      this.#options.charge(CHARGED_AT_ONCE * ACTION_BYTES);
    }
    const name = index ?? this.#pathIndex;
    const item: BulkItem = {
      action,
      index: name,
      id: id ?? `${this.#options.idPrefix}${this.#items.length.toString(36)}`,
      error: action === "update" || action === "delete"
        ? UNSUPPORTED[action]
        : id === ""
        ? EMPTY_ID
        : this.#faultOf(name),
    };
    this.#items.push(item);
    if (item.error !== undefined) this.#chargeRefusal();
    if (action === "delete") return;
    this.#pending = item;
    this.#pendingHasId = id !== undefined;
  }

  #document(item: BulkItem, { text, line }: { text: string | LineFault; line: number }): void {
    const { nowNs } = this.#options;
    try {
      if (typeof text !== "string") {
        throw refusal(`Line ${line}: Cannot store the document: it ${text.fault}`);
      }
      const open = this.#open(item.index);
      open.builder.addLine(
        text,
        this.#pendingHasId ? { nowNs, line, id: item.id } : { nowNs, line },
      );
      open.items.push(item);
    } catch (error) {
      if (!isOperatingError(error, "invalid_argument")) throw error;
      const isStrict = isOperatingError(error.cause) && error.cause.reason === STRICT_MAPPING;
      const type = isStrict ? "strict_dynamic_mapping_exception" : "document_parsing_exception";
      item.error = { status: 400, type, reason: error.message };
      this.#chargeRefusal();
    }
  }

  #chargeRefusal(): void {
    if (this.#refusals % CHARGED_AT_ONCE === 0) {
      this.#options.charge(CHARGED_AT_ONCE * REFUSAL_BYTES);
    }
    this.#refusals += 1;
  }

  #open(index: string): OpenIndex {
    let open = this.#indexes.get(index);
    if (open === undefined) {
      const { builders, tenant } = this.#options;
      open = { builder: builders.take({ tenant, index }), items: [] };
      this.#indexes.set(index, open);
    }
    return open;
  }

  #faultOf(index: string): ItemError | undefined {
    if (this.#indexes.has(index)) return undefined;
    if (this.#indexes.size >= REQUEST_INDEXES_MAX) return TOO_MANY_INDEXES;
    if (!this.#faults.has(index)) this.#faults.set(index, nameError(index));
    return this.#faults.get(index);
  }
}

const TOO_MANY_INDEXES: ItemError = {
  status: 429,
  type: "es_rejected_execution_exception",
  reason:
    `A request may write to ${REQUEST_INDEXES_MAX} indexes: send this document again in another one`,
};

const EMPTY_ID: ItemError = {
  status: 400,
  type: "illegal_argument_exception",
  reason: "if _id is specified it must not be empty: leave it out to be given one",
};

function nameError(index: string): ItemError | undefined {
  if (index === "") {
    return {
      status: 400,
      type: "illegal_argument_exception",
      reason: "index is missing: name it as _index in the action or in the path",
    };
  }
  const fault = indexNameFault(index);
  if (fault === undefined) return undefined;
  return {
    status: 400,
    type: "invalid_index_name_exception",
    reason: `Invalid index name [${shortened(index)}], ${fault}`,
  };
}

/**
 * Longer than any index's name. ASCII: one other character makes the whole reply take two bytes
 * each in memory.
 */
function shortened(index: string): string {
  return index.length > 140 ? `${index.slice(0, 140)}...` : index;
}

const UNSUPPORTED: Readonly<Record<Exclude<BulkAction, "index" | "create">, ItemError>> = {
  update: unsupportedAction("update"),
  delete: unsupportedAction("delete"),
};

function unsupportedAction(action: string): ItemError {
  return {
    status: 400,
    type: "illegal_argument_exception",
    reason: `${action} is not supported: rows are only added, send index or create`,
  };
}

function tooManyActions(): OperatingError {
  return new OperatingError(
    "too_large",
    `cannot take more than ${REQUEST_ACTIONS_MAX} actions in a request, and nothing of this one ` +
      "was stored: send smaller ones",
    { reason: "too_many_actions" },
  );
}

function refusal(message: string, reason = "malformed_bulk"): OperatingError {
  return new OperatingError("invalid_argument", message, { reason });
}
