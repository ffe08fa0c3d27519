/**
 * What runs in the pages of `foreign_page_test.ts`. Plain JavaScript: the types of a browser's page would be those of the
 * whole program. Each function is sent to the page as text, so it uses nothing from outside.
 */

/** Runs in the page: all that HTML and scripts can send elsewhere. */
export async function attack({ to, bodies }) {
  /** `read`: what the page could learn; empty: nothing. `isSeen`: the browser's network log has its answer. */
  const told = [];
  // What a server without these rules answers may have no end.
  const soon = (work) => Promise.race([work, new Promise((done) => setTimeout(done, 3_000, ""))]);
  // Answers that scripts may not read have no status here and an empty body.
  const ask = async (url, init) => {
    const what = `${init.method ?? "GET"} ${url} ${init.mode}`;
    const isSeen = init.mode === "no-cors";
    try {
      told.push({ what, isSeen, read: await soon(fetch(url, init).then((got) => got.text())) });
    } catch {
      told.push({ what, isSeen, read: "" });
    }
  };
  const tables = [
    [`${to.query}/api/v1/delete-tasks`, bodies.deleteTask],
    [`${to.query}/api/v1/sql`, bodies.sql],
    [`${to.query}/api/v1/indexes`, bodies.index],
    [`${to.ingest}/v1/logs`, bodies.logs],
    [`${to.ingest}/api/v1/_compat/_bulk`, bodies.bulk],
  ];
  for (const [url, body] of tables) {
    for (const mode of ["no-cors", "cors"]) {
      const headers = { "content-type": "text/plain" };
      await ask(url, { method: "POST", mode, headers, body });
    }
    await ask(url, { method: "POST", mode: "no-cors", body: new URLSearchParams({ body }) });
    navigator.sendBeacon(url, new Blob([body], { type: "text/plain" }));
    told.push({ what: `beacon to ${url}`, isSeen: true, read: "" });
  }
  const reads = [
    ...to.metrics,
    ...["/api/v1/jobs", "/api/v1/indexes", "/debug/memory-pool"].map((path) => to.query + path),
    ...["/", "/healthz", "/api/v1/stream"].map((path) => to.ingest + path),
  ];
  for (const url of reads) {
    for (const mode of ["no-cors", "cors"]) await ask(url, { mode });
    for (const tag of ["img", "script", "iframe"]) {
      const element = document.createElement(tag);
      const ended = new Promise((resolve) => {
        // A frame is loaded with whatever was answered, and shows it to the user alone.
        element.onload = () => resolve(tag === "iframe" ? "" : "loaded");
        element.onerror = () => resolve("");
      });
      element.src = url;
      document.body.append(element);
      told.push({ what: `${tag} of ${url}`, isSeen: tag === "iframe", read: await soon(ended) });
    }
  }
  const source = new EventSource(`${to.ingest}/api/v1/stream`);
  const stream = await new Promise((resolve) => {
    source.onopen = () => resolve("open");
    source.onerror = () => resolve("");
  });
  source.close();
  told.push({ what: "EventSource", isSeen: false, read: stream });
  // `<form enctype="text/plain">` writes name=value: a predicate has room for the sign.
  const form = document.createElement("form");
  const input = document.createElement("input");
  const frame = document.createElement("iframe");
  frame.name = form.target = "answer";
  Object.assign(form, { method: "post", enctype: "text/plain", action: tables[0][0] });
  const [name = "", value = ""] = bodies.deleteTask.replace("true", "1=1").split("=");
  Object.assign(input, { name, value });
  form.append(input);
  document.body.append(frame, form);
  const answered = new Promise((resolve) => frame.onload = resolve);
  form.submit();
  await soon(answered);
  told.push({ what: "form", isSeen: true, read: "" });
  return told;
}

/** Runs in the page, which takes the server for its own. */
export async function askOwnServer(bodies) {
  const headers = { "content-type": "application/json" };
  const asked = [
    ["/", null],
    ["/metrics", null],
    ["/api/v1/jobs", null],
    ["/api/v1/stream", null],
    ["/api/v1/sql", bodies.sql],
    ["/api/v1/delete-tasks?", bodies.deleteTask],
    ["/v1/logs", bodies.logs],
  ];
  const answers = [];
  for (const [path, body] of asked) {
    // Only what rebinding is tried with: at its own origin a page may do all.
    if (path.endsWith("?") && location.hostname === "127.0.0.1") continue;
    const method = body === null ? "GET" : "POST";
    const response = await fetch(path, { method, body, ...(body === null ? {} : { headers }) });
    const isStream = response.headers.get("content-type") === "text/event-stream";
    answers.push({ path, status: response.status, text: isStream ? "" : await response.text() });
  }
  return answers;
}

/** Runs in a page of a listed origin. */
export async function sendTelemetry({ to, bodies }) {
  const headers = { "content-type": "application/json" };
  const source = new EventSource(`${to.ingest}/api/v1/stream`);
  const stream = await new Promise((resolve) => {
    source.onopen = () => resolve("open");
    source.onerror = () => resolve("refused");
  });
  source.close();
  const logs = await fetch(`${to.ingest}/v1/logs?commit=force`, {
    method: "POST",
    headers: { ...headers, traceparent: `00-${"1".repeat(32)}-${"1".repeat(16)}-01` },
    body: bodies.logs,
  });
  const logsText = `${logs.status} ${await logs.text()}`;
  navigator.sendBeacon(
    `${to.ingest}/v1/logs?commit=force`,
    new Blob([bodies.logs], { type: "application/json" }),
  );
  const ask = (query) =>
    fetch(`${to.query}/api/v1/sql`, { method: "POST", headers, body: JSON.stringify({ query }) });
  const refused = await ask("SELECT 1 FROM nothing");
  const isTimed = refused.headers.has("x-svc-server-micros") ? "yes" : "no";
  const refusal = `${refused.status} ${isTimed} ${JSON.stringify((await refused.json()).reason)}`;
  const answer = await ask("SELECT raw FROM events WHERE raw <> 'by a page'");
  return { stream, logs: logsText, refused: refusal, rows: (await answer.json()).row_count };
}
