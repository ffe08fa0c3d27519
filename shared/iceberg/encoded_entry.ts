/**
 * Entries of manifests that go on in another one are copied as they are encoded. An entry that
 * stays as it is is copied whole. Other entries have `data_file` copied, metrics and bounds with
 * it. Only what stands before it is written anew: status, snapshot and sequence numbers.
 */

import { avroEncoder, type AvroSchema, type EncodedRecord } from "./avro_container.ts";
import { ENTRY_HEAD_SCHEMA } from "./manifest_schemas.ts";

/** What an entry says before its data file; undefined: it is for readers to inherit. */
export interface EntryHead {
  readonly status: number;
  readonly snapshotId: bigint | undefined;
  readonly sequenceNumber: bigint | undefined;
  readonly fileSequenceNumber: bigint | undefined;
}

/** An entry in a manifest. */
export interface EncodedEntry {
  /** The schema of the manifest: in another one of the same schema the bytes mean the same. */
  readonly schemaText: string;
  readonly head: EntryHead;
  readonly bytes: Uint8Array;
  /** Where in `bytes` its data file begins. */
  readonly fileAt: number;
}

/** An entry that a manifest is to have. */
export interface WantedEntry extends EntryHead {
  /**
   * It as its manifest has it; absent when the file is new, or when that manifest's schema is not
   * ours.
   */
  readonly encoded?: EncodedEntry;
}

/** `bytes` are a whole entry, of our schema. */
export function encodedEntry(
  bytes: Uint8Array,
  { schemaText, head }: Pick<EncodedEntry, "schemaText" | "head">,
): EncodedEntry {
  let fileAt = afterNumber(bytes, 0);
  // Each of the others is a union: null is branch 0, a byte and nothing more.
  for (let field = 1; field < ENTRY_HEAD_FIELDS; field += 1) {
    fileAt = bytes[fileAt] === 0 ? fileAt + 1 : afterNumber(bytes, fileAt + 1);
  }
  return { schemaText, head, bytes, fileAt };
}

/** Status, snapshot, sequence number, sequence number of the file. */
const ENTRY_HEAD_FIELDS = 4;

/** Numbers have seven bits a byte, the last one without the eighth. */
function afterNumber(bytes: Uint8Array, start: number): number {
  let at = start;
  while ((bytes[at] ?? 0) >= 0x80) at += 1;
  return at + 1;
}

const encodeHead = avroEncoder(ENTRY_HEAD_SCHEMA);

/** Entries as a manifest of `schema` has them; undefined where the whole record must be encoded. */
export function copiedEntries(
  schema: AvroSchema,
): (entry: WantedEntry) => EncodedRecord | undefined {
  const schemaText = JSON.stringify(schema);
  // Neighbours often came together, or go together.
  let last: { readonly head: EntryHead; readonly bytes: Uint8Array } | undefined;
  return (entry) => {
    const { encoded } = entry;
    if (encoded?.schemaText !== schemaText) return undefined;
    if (isSame(encoded.head, entry)) return [encoded.bytes];
    if (last === undefined || !isSame(last.head, entry)) {
      last = { head: entry, bytes: encodeHead(headRecord(entry)) };
    }
    return [last.bytes, encoded.bytes.subarray(encoded.fileAt)];
  };
}

/** The head of an entry as an Avro record. */
export function headRecord(head: EntryHead) {
  return {
    status: head.status,
    snapshot_id: head.snapshotId ?? null,
    sequence_number: head.sequenceNumber ?? null,
    file_sequence_number: head.fileSequenceNumber ?? null,
  };
}

function isSame(one: EntryHead, other: EntryHead): boolean {
  return one.status === other.status && one.snapshotId === other.snapshotId &&
    one.sequenceNumber === other.sequenceNumber &&
    one.fileSequenceNumber === other.fileSequenceNumber;
}
