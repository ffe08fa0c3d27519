/** What a LIKE pattern says of the texts that match it. */

export interface LikeParts {
  /** Runs of literal letters, in order, none empty. */
  readonly runs: readonly string[];
  /** The first run begins the text. */
  readonly startsText: boolean;
  /** There is no wildcard: a matching text is the one run, or empty. */
  readonly isWhole: boolean;
}

/** undefined: the pattern ends in its escape, which the SQL engine refuses. `escape`: one letter, or none. */
export function likeParts(pattern: string, escape = ""): LikeParts | undefined {
  const runs: string[] = [];
  let run = "";
  let wildcards = 0;
  let startsText = false;
  const letters = [...pattern];
  const close = () => {
    if (run === "") return;
    startsText ||= runs.length === 0 && wildcards === 0;
    runs.push(run);
    run = "";
  };
  for (let at = 0; at < letters.length; at += 1) {
    const letter = letters[at] ?? "";
    if (letter === escape) {
      at += 1;
      const literal = letters[at];
      if (literal === undefined) return undefined;
      run += literal;
    } else if (letter === "%" || letter === "_") {
      close();
      wildcards += 1;
    } else {
      run += letter;
    }
  }
  close();
  return { runs, startsText, isWhole: wildcards === 0 };
}
