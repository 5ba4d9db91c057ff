// Asks the WebAssembly outside of a browser: node ask.mjs browser.wasm, and on each line of standard input {"question": ..., "files": [paths]}.
// Prints the answers, one a line.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { createInterface } from "node:readline";

let files = [];
const worker = {
  file_read(number, offset, into, bytes) {
    const room = new Uint8Array(exported.memory.buffer, into >>> 0, bytes);
    return readSync(files[number], room, 0, bytes, offset) === bytes ? 1 : 0;
  },
};
const made = await WebAssembly.instantiate(readFileSync(process.argv[2]), { worker });
const exported = made.instance.exports;

function answer(question) {
  const asked = new TextEncoder().encode(JSON.stringify(question));
  const into = exported.input(asked.length) >>> 0;
  new Uint8Array(exported.memory.buffer, into, asked.length).set(asked);
  const from = exported.answer() >>> 0;
  return new TextDecoder().decode(new Uint8Array(exported.memory.buffer, from, exported.answer_bytes()));
}

for await (const line of createInterface({ input: process.stdin })) {
  const { question, files: paths } = JSON.parse(line);
  files = paths.map((path) => openSync(path, "r"));
  // Files are named and sized by the question already; that they are as long is looked at here.
  for (const [number, file] of files.entries()) {
    if (question.files && question.files[number].bytes !== fstatSync(file).size) throw new Error("another file: " + paths[number]);
  }
  process.stdout.write(answer(question) + "\n");
  files.forEach((file) => closeSync(file));
}
