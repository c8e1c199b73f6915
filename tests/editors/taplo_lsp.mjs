// The language server of Taplo on standard input and output, from the npm package `@taplo/lsp`, which is what editors run.
//
//     NODE_PATH=.../node_modules node taplo_lsp.mjs
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const { TaploLsp } = createRequire(import.meta.url)("@taplo/lsp");

const environment = {
  now: () => new Date(),
  envVar: (name) => process.env[name],
  envVars: () => Object.entries(process.env),
  stdErrAtty: () => false,
  stdin: async () => new Uint8Array(),
  stdout: async (bytes) => bytes.length,
  stderr: async (bytes) => bytes.length,
  glob: () => [],
  readFile: async (name) => new Uint8Array(await fs.promises.readFile(name)),
  writeFile: async () => {},
  urlToFilePath: (url) => decodeURI(url).slice("file://".length), // also asked of addresses, and may not throw
  isAbsolute: (name) => path.isAbsolute(name),
  cwd: () => process.cwd(),
  findConfigFile: () => undefined,
};

process.on("unhandledRejection", (error) => console.error("lost:", error));
const server = await TaploLsp.initialize(environment, {
  onMessage: (message) => {
    const body = Buffer.from(JSON.stringify(message));
    process.stdout.write(`Content-Length: ${body.length}\r\n\r\n`);
    process.stdout.write(body);
  },
});

let pending = Buffer.alloc(0);
process.stdin.on("data", (bytes) => {
  pending = Buffer.concat([pending, bytes]);
  for (;;) {
    const end = pending.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/content-length: *(\d+)/i.exec(pending.subarray(0, end).toString())[1]);
    if (pending.length < end + 4 + length) return;
    const body = pending.subarray(end + 4, end + 4 + length).toString();
    pending = pending.subarray(end + 4 + length);
    server.send(JSON.parse(body));
  }
});
process.stdin.on("end", () => process.exit(0));
