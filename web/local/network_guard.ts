/**
 * Keeps DuckDB's worker from asking any other host. DuckDB fetches extensions and files from the
 * network by itself, whatever its settings say; here such a request fails before it leaves.
 */

const here = new URL(import.meta.url).origin;

function refuseElsewhere(asked: string | URL | Request): void {
  const url = new URL(asked instanceof Request ? asked.url : asked, import.meta.url);
  if (url.origin === here) return;
  throw new Error(`Local tables never load from other hosts: ${url.host}`);
}

const { fetch } = globalThis;
globalThis.fetch = (asked, init) => {
  refuseElsewhere(asked);
  return fetch(asked, init);
};

const { open } = XMLHttpRequest.prototype;
XMLHttpRequest.prototype.open = function (
  this: XMLHttpRequest,
  method: string,
  url: string | URL,
  ...rest: readonly unknown[]
): void {
  refuseElsewhere(url);
  Reflect.apply(open, this, [method, url, ...rest]);
};
