import assert from "node:assert/strict";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { configureLogging, resetLogging } from "../logging/logging.ts";
import { selfSigned } from "../testing/self_signed.ts";
import { serve } from "./serve.ts";
import { readTlsFiles } from "./tls_files.ts";

const fs = new DenoFileSystem();

async function withFiles(use: (at: (name: string) => string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "svc-tls-" });
  const { cert, key } = await selfSigned();
  try {
    await Deno.writeTextFile(`${folder}/cert`, cert);
    await Deno.writeTextFile(`${folder}/key`, key);
    await Deno.writeTextFile(`${folder}/empty`, "");
    await Deno.writeTextFile(`${folder}/other`, (await selfSigned()).key);
    await Deno.writeTextFile(`${folder}/locked`, key.replaceAll("PRIVATE", "ENCRYPTED PRIVATE"));
    await Deno.writeTextFile(`${folder}/torn`, cert.replace(/(\n.{20}).*\n/, "$1\n"));
    await use((name) => `${folder}/${name}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: "serve with TLS files speaks HTTPS and not HTTP",
  fn: () =>
    withFiles(async (at) => {
      const tls = await readTlsFiles({ tlsCert: at("cert"), tlsKey: at("key") }, fs);
      assert.ok(tls !== undefined);
      const handler = (request: Request) => new Response(new URL(request.url).protocol);
      await using server = serve({ hostname: "127.0.0.1", port: 0, handler, tls });
      const where = `127.0.0.1:${server.address.port}`;
      using client = Deno.createHttpClient({ caCerts: [tls.cert] });
      const response = await fetch(`https://${where}/`, { client });
      assert.deepEqual([response.status, await response.text()], [200, "https:"]);
      await assert.rejects(fetch(`https://${where}/`), "nobody vouches for the certificate");
      await assert.rejects(fetch(`http://${where}/`));
    }),
});

Deno.test({
  name: "readTlsFiles without files is no TLS",
  fn: async () =>
    assert.equal(await readTlsFiles({ tlsCert: undefined, tlsKey: undefined }, fs), undefined),
});

const REFUSED: [cert: string | undefined, key: string | undefined, message: RegExp][] = [
  ["cert", undefined, /with --tls-cert alone: give --tls-key too/],
  [undefined, "key", /with --tls-key alone: give --tls-cert too/],
  ["missing", "key", /cannot use .*missing of --tls-cert/],
  ["cert", "missing", /cannot use .*missing of --tls-key/],
  ["empty", "key", /empty of --tls-cert: it holds no such PEM block/],
  ["cert", "cert", /cert of --tls-key: it holds no such PEM block/],
  ["key", "key", /key of --tls-cert: it holds no such PEM block/],
  ["torn", "key", /torn of --tls-cert: its first certificate cannot be read/],
  ["cert", "locked", /locked of --tls-key: the key is encrypted/],
  ["cert", "other", /cert of --tls-cert and .*other of --tls-key: the key is not that of/],
];

for (const [cert, key, message] of REFUSED) {
  Deno.test({
    name: `readTlsFiles refuses ${cert} with ${key}`,
    fn: () =>
      withFiles(async (at) => {
        const paths = {
          tlsCert: cert === undefined ? undefined : at(cert),
          tlsKey: key === undefined ? undefined : at(key),
        };
        await assert.rejects(readTlsFiles(paths, fs), { code: "invalid_argument", message });
      }),
  });
}

Deno.test({
  name: "serve refuses a key of another certificate, naming the address",
  fn: async () => {
    const [{ cert }, { key }] = [await selfSigned(), await selfSigned()];
    const handler = () => new Response();
    assert.throws(
      () => serve({ hostname: "127.0.0.1", port: 0, handler, tls: { cert, key } }),
      { code: "invalid_argument", message: /127\.0\.0\.1:0.*--tls-key/ },
    );
  },
});

Deno.test({
  name: "readTlsFiles warns of a certificate that is not valid now, and of no other",
  fn: () =>
    withFiles(async (at) => {
      const paths = { tlsCert: at("cert"), tlsKey: at("key") };
      const lines: string[] = [];
      await configureLogging({ level: "info", writeLine: (line) => lines.push(line) });
      try {
        await readTlsFiles(paths, fs);
        assert.deepEqual(lines, []);
        for (const nowMs of [0, Date.now() + 10 * 86_400_000]) {
          await readTlsFiles(paths, fs, { nowMs: () => nowMs });
        }
      } finally {
        await resetLogging();
      }
      assert.equal(lines.length, 2);
      for (const line of lines) {
        assert.match(line, /WRN http .*cert of --tls-cert is valid from 20/);
      }
    }),
});
