/**
 * Firefox without a window, as the system has it, by WebDriver BiDi: as much of that protocol as
 * tests of the page need (https://w3c.github.io/webdriver-bidi/). Playwright drives a Firefox that
 * it built itself, and that no package registry has.
 */

import { join } from "node:path";
import { until } from "../../shared/testing/until.ts";
import { isInstalled } from "./programs.ts";

const PROGRAM = "firefox-esr";
/** Firefox writes into its profile where it listens. */
const ADDRESS = "WebDriverBiDiServer.json";
const ANSWER_MS_MAX = 60_000;

/** Keys that are no letters: https://w3c.github.io/webdriver/#keyboard-actions. */
export const KEY = { tab: "\uE004", enter: "\uE007", control: "\uE009" } as const;

export const HAS_FIREFOX = await isInstalled(PROGRAM);

export interface Firefox extends AsyncDisposable {
  /** Errors that scripts and the browser told, in all pages. */
  readonly faults: readonly string[];
  goTo(url: string): Promise<void>;
  /** Returns once `expression` is true in the page; promises are awaited. */
  isTrue(expression: string): Promise<void>;
  /** Clicks into the middle of the first element that `selector` finds, once it is there. */
  click(selector: string): Promise<void>;
  /** Presses each key by itself. */
  type(keys: string): Promise<void>;
  /** Presses the keys together. */
  chord(keys: string): Promise<void>;
}

/** Starts it with a profile of its own, and one tab. */
export async function openFirefox(): Promise<Firefox> {
  await using held = new AsyncDisposableStack();
  const profile = await Deno.makeTempDir({ prefix: "svc-firefox-" });
  held.defer(() => Deno.remove(profile, { recursive: true }));
  const process = new Deno.Command(PROGRAM, {
    args: ["--headless", "--profile", profile, "--remote-debugging-port", "0"],
    stdout: "null",
    stderr: "null",
  }).spawn();
  held.defer(async () => {
    process.kill();
    await process.status;
  });
  const session = held.use(await Session.open(await addressIn(profile)));
  const firefox = await tabOf(session);
  const all = held.move();
  return { ...firefox, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

async function addressIn(profile: string): Promise<string> {
  const read = () => Deno.readTextFile(join(profile, ADDRESS)).catch(() => "");
  await until(async () => (await read()).endsWith("}"));
  const { ws_host: host, ws_port: port } = JSON.parse(await read());
  return `ws://${host}:${port}/session`;
}

async function tabOf(session: Session): Promise<Omit<Firefox, typeof Symbol.asyncDispose>> {
  const { contexts: [{ context }] } = await session.send("browsingContext.getTree", {});
  const read = async (expression: string): Promise<unknown> => {
    const { result, exceptionDetails } = await session.send("script.evaluate", {
      expression: `(async () => JSON.stringify(await (${expression})))()`,
      target: { context },
      awaitPromise: true,
    });
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
    return result.value === undefined ? undefined : JSON.parse(result.value);
  };
  const isTrue = (expression: string) => until(async () => await read(expression) === true);
  const act = (actions: Readonly<Record<string, unknown>>) =>
    session.send("input.performActions", { context, actions: [actions] });
  const press = (keys: readonly string[]) => keys.map((value) => ({ type: "keyDown", value }));
  const release = (keys: readonly string[]) => keys.map((value) => ({ type: "keyUp", value }));
  return {
    faults: session.faults,
    goTo: (url) => session.send("browsingContext.navigate", { context, url, wait: "complete" }),
    isTrue,
    async click(selector) {
      const element = `document.querySelector(${JSON.stringify(selector)})`;
      await isTrue(`${element} !== null`);
      const [x, y] = await read(`(({ x, y, width, height }) =>
        [x + width / 2, y + height / 2].map(Math.round))(${element}.getBoundingClientRect())`) as [
        number,
        number,
      ];
      const button = 0;
      await act({
        type: "pointer",
        id: "mouse",
        actions: [
          { type: "pointerMove", x, y },
          { type: "pointerDown", button },
          { type: "pointerUp", button },
        ],
      });
    },
    async type(keys) {
      await act({
        type: "key",
        id: "keys",
        actions: [...keys].flatMap((key) => [...press([key]), ...release([key])]),
      });
    },
    async chord(keys) {
      const actions = [...press([...keys]), ...release([...keys].reverse())];
      await act({ type: "key", id: "keys", actions });
    },
  };
}

// deno-lint-ignore no-explicit-any -- answers are read at once, by tests alone
type Answer = any;

/** A session over its WebSocket. */
class Session implements Disposable {
  readonly faults: string[] = [];
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer>>();
  #sent = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#hear(JSON.parse(data));
  }

  static async open(address: string): Promise<Session> {
    const socket = new WebSocket(address);
    await until(() => socket.readyState === WebSocket.OPEN);
    const session = new Session(socket);
    await session.send("session.new", { capabilities: {} });
    await session.send("session.subscribe", { events: ["log.entryAdded"] });
    return session;
  }

  async send(method: string, params: Readonly<Record<string, unknown>>): Promise<Answer> {
    const id = this.#sent += 1;
    const answer = Promise.withResolvers<Answer>();
    this.#waiting.set(id, answer);
    this.#socket.send(JSON.stringify({ id, method, params }));
    const timer = setTimeout(() => answer.reject(new Error(`no answer: ${method}`)), ANSWER_MS_MAX);
    return await answer.promise.finally(() => clearTimeout(timer));
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  #hear({ id, error, message, result, method, params }: Answer): void {
    if (method === "log.entryAdded") {
      if (params.level === "error") this.faults.push(params.text);
      return;
    }
    const answer = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) answer?.resolve(result);
    else answer?.reject(new Error(`${error}: ${message}`));
  }
}
