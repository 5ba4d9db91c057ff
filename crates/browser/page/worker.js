// The worker: WebAssembly, and the files that it reads. A file is never taken into memory as a whole.

let instance = null;
let files = [];
let shownAt = 0;
const reader = new FileReaderSync();

/** What a read leaves behind is freed by the collector of garbage, which a busy worker meets late. So many bytes are left at most. */
const UNFREED_MAX = 16 * 1024 * 1024;
/** A buffer that is asked for and never touched takes no memory, and makes the collector come. */
const PRESSURE_BYTES = 96 * 1024 * 1024;
let unfreed = 0;

/** Bytes of a file, where WebAssembly has room for them. */
function fileRead(number, offset, into, bytes) {
  try {
    const part = reader.readAsArrayBuffer(files[number].slice(offset, offset + bytes));
    if (part.byteLength !== bytes) return 0;
    new Uint8Array(instance.exports.memory.buffer, into >>> 0, bytes).set(new Uint8Array(part));
  } catch (error) {
    return 0;
  }
  callCollector(bytes);
  const now = performance.now();
  if (now - shownAt > 200) {
    shownAt = now;
    postMessage({ progress: offset / files[number].size });
  }
  return 1;
}

function callCollector(bytes) {
  unfreed += bytes;
  if (unfreed <= UNFREED_MAX) return;
  unfreed = 0;
  try {
    new ArrayBuffer(PRESSURE_BYTES);
  } catch (error) {
    // There is not so much room, so the collector has come already.
  }
}

/** The answer to a question, as text. */
function ask(question) {
  const { input, answer, answer_bytes: answerBytes, memory } = instance.exports;
  const bytes = new TextEncoder().encode(question);
  const into = input(bytes.length) >>> 0;
  new Uint8Array(memory.buffer, into, bytes.length).set(bytes);
  const from = answer() >>> 0;
  return new TextDecoder().decode(new Uint8Array(memory.buffer, from, answerBytes()));
}

/** Ends when WebAssembly can be asked. */
let started = null;

async function start(module) {
  instance = await WebAssembly.instantiate(module, { worker: { file_read: fileRead } });
}

onmessage = async ({ data }) => {
  if (data.module) {
    started = start(data.module);
    return;
  }
  try {
    await started;
    files = data.files;
    shownAt = performance.now();
    const text = ask(data.question);
    postMessage({ id: data.id, text, memoryBytes: instance.exports.memory.buffer.byteLength });
  } catch (error) {
    // What has trapped cannot be asked again: the page begins another worker.
    postMessage({ failed: String(error.message || error) });
  } finally {
    files = [];
  }
};
