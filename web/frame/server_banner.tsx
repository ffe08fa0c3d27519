/** Says that the server is away, over whatever page is shown, and that it is looked for. */

import type { JSX } from "preact";
import { lookForServer, serverState, stopWaiting } from "../api/server_state.ts";

export function ServerBanner(): JSX.Element {
  const state = serverState.value;
  return (
    <div class="server-banner" role="status" hidden={state === "here"}>
      {state !== "here" && (
        <>
          <span>
            {state === "away"
              ? "The server does not answer. What you asked goes on when it is back."
              : "The server does not answer."}
          </span>
          <button type="button" onClick={lookForServer}>Look now</button>
          {state === "away" && <button type="button" onClick={stopWaiting}>Stop waiting</button>}
        </>
      )}
    </div>
  );
}
