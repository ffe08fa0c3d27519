/** A console that keeps what was written, for tests. */

import type { ByteInput, Console, TextOutput } from "./console.ts";

export class RecordingConsole implements Console {
  readonly input: ByteInput;
  readonly output: TextOutput;
  readonly notes: TextOutput;
  outputText = "";
  notesText = "";

  /** `input` is what stdin holds. */
  constructor(input = "") {
    this.input = { isTerminal: false, readable: new Blob([input]).stream() };
    this.output = recording((text) => this.outputText += text);
    this.notes = recording((text) => this.notesText += text);
  }
}

function recording(keep: (text: string) => void): TextOutput {
  return {
    isTerminal: false,
    isStyled: false,
    columns: () => undefined,
    write(text) {
      keep(text);
      return Promise.resolve();
    },
  };
}
