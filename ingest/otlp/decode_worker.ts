/** The thread behind `DecodeThread`: one request for each task. */

import { isOperatingError } from "../../shared/base/errors.ts";
import type { ColumnBatch, ColumnData } from "../../shared/columns/batch.ts";
import { type Done, serveTasks } from "../../shared/os/serve_tasks.ts";
import type { DecodeReply, DecodeTask, OtlpForm } from "./decode_thread.ts";
import { JsonRequestWriter } from "./json/parsed_request.ts";
import { createLogsDecoder } from "./logs/logs_request_decoder.ts";
import { LOGS_JSON } from "./json/logs_messages.ts";
import type { DecodeOptions } from "./request_decoder.ts";
import { tooIrregular } from "./request_limits.ts";
import { SPANS_JSON } from "./json/spans_messages.ts";
import { createSpansDecoder } from "./spans/spans_request_decoder.ts";

type Decode = (body: Uint8Array, options: DecodeOptions) => ColumnBatch;

/** What comes here is too long to be merged; the package that merges is not loaded. */
function regular(body: Uint8Array): never {
  throw tooIrregular(body.length);
}

const logs = createLogsDecoder(regular);
const logsJson = new JsonRequestWriter(LOGS_JSON);
const spans = createSpansDecoder(regular);
const spansJson = new JsonRequestWriter(SPANS_JSON);

const DECODERS: Readonly<Record<OtlpForm, Decode>> = {
  "logs protobuf": (body, options) => logs.decode(body, options),
  "logs json": (body, options) => logsJson.through(body, (wire) => logs.decode(wire, options)),
  "traces protobuf": (body, options) => spans.decode(body, options),
  "traces json": (body, options) => spansJson.through(body, (wire) => spans.decode(wire, options)),
};

serveTasks(({ form, body, nowNs }: DecodeTask): Done<DecodeReply> => {
  try {
    const { rows, columns, told, traces } = DECODERS[form](body, { nowNs });
    return {
      value: { body, rows, columns, told, traces },
      transfer: [...buffersOf(columns), body.buffer],
    };
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    const { code, message, reason } = error;
    return { value: { body, refusal: { code, message, reason } }, transfer: [body.buffer] };
  }
});

/**
 * The buffers of columns. A decoder uses none of what it gave again, and no two columns share one.
 */
function* buffersOf(columns: readonly ColumnData[]): Generator<ArrayBuffer> {
  for (const { validity, offsets, values } of columns) {
    for (const part of [validity, offsets, values]) {
      if (part !== null) yield part.buffer as ArrayBuffer;
    }
  }
}
