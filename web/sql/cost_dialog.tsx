/** The question before a statement that reads much. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { bytesText } from "../view/bytes_text.ts";
import { durationText, rowsText, wholeText } from "../view/number_text.ts";
import { type CostAnswer, openQuestion } from "./cost_question.ts";
import type { Cost } from "./sql_requests.ts";

export function CostDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const question = openQuestion.value;
  useEffect(() => {
    if (question === undefined) dialog.current?.close();
    else dialog.current?.showModal();
  }, [question]);
  const answer = (given: CostAnswer) => () => openQuestion.peek()?.answer(given);
  return (
    <dialog ref={dialog} class="cost-dialog" aria-labelledby="cost-title" onClose={answer("no")}>
      <h2 id="cost-title">Run this statement?</h2>
      <p>It will read about {question === undefined ? "" : costText(question.cost)}.</p>
      <div class="answers">
        <button type="button" class="first" onClick={answer("run")}>Run</button>
        <button type="button" onClick={answer("job")}>Run as batch job</button>
        <button type="button" onClick={answer("no")}>Cancel</button>
      </div>
    </dialog>
  );
}

/** `1.2 GiB · 12,403 rows · 4 of 44 files · about 3 s` of an estimate. */
export function costText(cost: Cost): string {
  return [
    bytesText(cost.estimated_bytes_scanned),
    rowsText(cost.estimated_rows_processed),
    `${wholeText(cost.files_to_scan)} of ${wholeText(cost.files_considered)} files`,
    `about ${durationText(cost.estimated_runtime_seconds * 1_000)}`,
  ].join(" · ");
}
