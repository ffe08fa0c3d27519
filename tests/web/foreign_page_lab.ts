/**
 * A real browser (Chromium, as the system has it) with pages of several origins, all of which lead
 * to this machine. For tests only.
 */

import type { Browser, Page } from "playwright-core";
import { launchChromium } from "../clients/chromium.ts";

/** What one answer of a server was, as the browser's network saw it, whatever the page was told. */
export interface SeenAnswer {
  readonly method: string;
  readonly url: string;
  readonly status: number;
}

/** One page and all that it received from elsewhere than its own origin. */
export interface OpenPage {
  readonly page: Page;
  readonly seen: SeenAnswer[];
}

export class PageLab implements AsyncDisposable {
  readonly #browser: Browser;
  readonly #pages: Deno.HttpServer<Deno.NetAddr>;

  private constructor(browser: Browser, pages: Deno.HttpServer<Deno.NetAddr>) {
    this.#browser = browser;
    this.#pages = pages;
  }

  /** Every name that ends with `.example` is this machine to the browser. */
  static async open(): Promise<PageLab> {
    const pages = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () =>
        new Response("<!doctype html><title>page</title>", {
          headers: { "content-type": "text/html" },
        }),
    );
    const browser = await launchChromium(["--host-resolver-rules=MAP *.example 127.0.0.1"]);
    return new PageLab(browser, pages);
  }

  /** `http://<name>:<port>`, where `openAt` finds a page. */
  originOf(name: string): string {
    return `http://${name}:${this.#pages.addr.port}`;
  }

  /** A page at `url`, with a profile of its own. */
  async openAt(url: string): Promise<OpenPage> {
    const context = await this.#browser.newContext();
    const page = await context.newPage();
    const seen: SeenAnswer[] = [];
    const { origin } = new URL(url);
    page.on("response", (response) => {
      const asked = response.url();
      if (new URL(asked).origin === origin) return;
      seen.push({ method: response.request().method(), url: asked, status: response.status() });
    });
    await page.goto(url);
    return { page, seen };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
    await this.#pages.shutdown();
  }
}
