// Opens the page in Chromium as a reader does, and prints what is seen of it as one JSON object.
//
//   node page.mjs '{"page": "/path/log.html", "files": ["/path/Sales_log.ldf"], "width": 390, "dark": true, "shot": "/path/out.png"}'
//
// Also: "browser" (a program, "chromium"), "profile" (a folder), "paste" (text), "example" (the page's own), "plan" (fields of the form by their ids), "keys" (pressed in the
// ring), "full" (the whole page in the picture), "seconds" (patience). Chromium is talked to over two pipes: there is no port and no driver.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const asked = JSON.parse(process.argv[2]);
const patienceMs = (asked.seconds || 60) * 1000;
const profile = asked.profile || mkdtempSync(join(tmpdir(), "vlflab-page-"));
const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
  `--user-data-dir=${profile}`, "about:blank"];
const chromium = spawn(asked.browser || "chromium", options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
chromium.on("error", (error) => {
  console.error(`chromium cannot be started: ${error.message}`);
  process.exit(3);
});

// The protocol: JSON, each message ended by a zero.

const waiting = new Map();
const heard = [];
let next = 1, kept = "";
chromium.stdio[4].on("data", (data) => {
  kept += data;
  const parts = kept.split("\0");
  kept = parts.pop();
  for (const part of parts) {
    const message = JSON.parse(part);
    if (!message.id) heard.push(message);
    else if (message.error) waiting.get(message.id).reject(new Error(`${waiting.get(message.id).method}: ${message.error.message}`));
    else waiting.get(message.id).resolve(message.result);
  }
});

let sessionId;
function send(method, params = {}) {
  const id = next;
  next += 1;
  chromium.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject, method }));
}

async function evaluate(expression) {
  const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
  if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description || exceptionDetails.text}`);
  return result.value;
}

/** Asks again and again until it is so; answers after how many milliseconds it was. */
async function until(expression) {
  const began = performance.now();
  for (;;) {
    if (await evaluate(expression)) return performance.now() - began;
    if (performance.now() - began > patienceMs) {
      throw new Error(`not after ${patienceMs} ms: ${expression}; status: ${await evaluate("document.getElementById('status').textContent")}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The most memory that a renderer has had, in bytes: what is its own, and all of it, shared libraries included. */
const memory = { own: 0, resident: 0 };

function lookAtMemory() {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "latin1");
      if (!line.includes("--type=renderer") || !line.includes(profile)) continue;
      const status = readFileSync(`/proc/${pid}/status`, "latin1");
      const bytes = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] || 0) * 1024;
      memory.own = Math.max(memory.own, bytes("RssAnon"));
      memory.resident = Math.max(memory.resident, bytes("VmHWM"));
    } catch {
      // The process has ended between two reads.
    }
  }
}

const textOf = (id) => `document.getElementById('${id}').textContent`;
const isDone = "!state.waiting.size && /^(Done|Ready|That)/.test(document.getElementById('status').textContent)";

async function press(key) {
  const special = { ArrowRight: 39, ArrowLeft: 37, Home: 36, End: 35 };
  const of = { key, code: key, windowsVirtualKeyCode: special[key] || key.charCodeAt(0), text: special[key] ? undefined : key };
  await send("Input.dispatchKeyEvent", { type: "keyDown", ...of });
  await send("Input.dispatchKeyEvent", { type: "keyUp", ...of });
}

async function look() {
  const seen = {};
  const { targetInfos } = await send("Target.getTargets");
  const page = targetInfos.find((target) => target.type === "page");
  sessionId = (await send("Target.attachToTarget", { targetId: page.targetId, flatten: true })).sessionId;
  for (const domain of ["Page", "Runtime", "Log", "Network", "DOM", "Accessibility"]) await send(domain + ".enable");
  const width = asked.width || 1280;
  await send("Emulation.setDeviceMetricsOverride", { width, height: asked.height || (width < 600 ? 844 : 800), deviceScaleFactor: 1, mobile: width < 600 });
  await send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: asked.dark ? "dark" : "light" }] });
  const began = performance.now();
  await send("Page.navigate", { url: "file://" + asked.page });
  await until("typeof state !== 'undefined' && document.getElementById('status').textContent === 'Ready.'");
  seen.readyMs = performance.now() - began;
  seen.paintMs = await evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime");
  lookAtMemory();
  seen.idleMemory = { ...memory };
  const looks = setInterval(lookAtMemory, 100);
  if (asked.files) {
    const { root } = await send("DOM.getDocument");
    const { nodeId } = await send("DOM.querySelector", { nodeId: root.nodeId, selector: "#file" });
    const before = performance.now();
    await send("DOM.setFileInputFiles", { nodeId, files: asked.files });
    await until("state.answer || document.getElementById('failed').textContent || !document.getElementById('recording-card').hidden");
    seen.answerMs = performance.now() - before;
    await until(isDone);
  }
  if (asked.paste !== undefined) {
    await evaluate(`document.getElementById('paste').value = ${JSON.stringify(asked.paste)}; document.getElementById('paste-read').click()`);
    await until("state.answer || document.getElementById('failed').textContent");
    await until(isDone);
  }
  if (asked.example) {
    await evaluate("document.getElementById('example').click()");
    await until("state.answer || document.getElementById('failed').textContent");
    await until(isDone);
  }
  if (asked.plan) {
    for (const [id, value] of Object.entries(asked.plan)) {
      await evaluate(`{ const field = document.getElementById('${id}'); field.value = ${JSON.stringify(value)}; field.dispatchEvent(new Event('change')); }`);
      await until(isDone);
    }
    await evaluate("document.getElementById('plan-go').click()");
    await until(`${isDone} && (state.plan || document.getElementById('plan-failed').textContent)`);
  }
  if (asked.keys) {
    await evaluate("document.getElementById('ring').focus()");
    for (const key of asked.keys) await press(key);
    await evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
  }
  clearInterval(looks);
  lookAtMemory();
  seen.memory = { ...memory };
  const ids = ["status", "failed", "answer-heading", "verdict", "facts", "findings", "picked", "plan-title", "plan-verdict", "plan-failed",
    "plan-sections", "tables", "text", "product", "recording-heading"];
  for (const id of ids) seen[id] = await evaluate(textOf(id));
  seen.ring = await evaluate("document.getElementById('ring').getAttribute('aria-label')");
  seen.readMs = await evaluate("state.readMs");
  seen.wasmMemoryBytes = await evaluate("state.memoryBytes");
  // Something is drawn when the middle of the ring's band is not of one colour with the card.
  seen.colours = await evaluate(`(() => {
    const ring = document.getElementById('ring');
    if (!ring.width) return 0;
    const data = ring.getContext('2d').getImageData(0, 0, ring.width, ring.height).data;
    const colours = new Set();
    for (let at = 0; at < data.length; at += 4 * 97) if (data[at + 3] === 255) colours.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
    return colours.size;
  })()`);
  // A narrow screen makes its page wider, where something does not fit.
  seen.overflows = await evaluate(`document.documentElement.scrollWidth > ${width}`);
  if (asked.inRecording) seen.recording = await recordingText();
  if (asked.tree) {
    const { nodes } = await send("Accessibility.getFullAXTree");
    seen.tree = nodes.filter((node) => !node.ignored && node.name?.value).map((node) => `${node.role.value}: ${node.name.value}`);
  }
  if (asked.shot) {
    const { data } = await send("Page.captureScreenshot", { format: "png", captureBeyondViewport: Boolean(asked.full) });
    writeFileSync(asked.shot, Buffer.from(data, "base64"));
  }
  seen.errors = complaints();
  seen.requests = heard.filter(({ method }) => method === "Network.requestWillBeSent").map(({ params }) => params.request.url.slice(0, 100));
  return seen;
}

/** What is read in the frame of a recording, which has a process of its own. */
async function recordingText() {
  const own = sessionId;
  const began = performance.now();
  try {
    for (;;) {
      sessionId = undefined;
      const { targetInfos } = await send("Target.getTargets");
      const frame = targetInfos.find((target) => target.type === "iframe");
      if (frame) {
        sessionId = (await send("Target.attachToTarget", { targetId: frame.targetId, flatten: true })).sessionId;
        for (const domain of ["Runtime", "Log"]) await send(domain + ".enable");
        const text = await evaluate("document.body && document.getElementById('figures') ? document.body.innerText : ''");
        if (text) return text;
      }
      if (performance.now() - began > patienceMs) throw new Error("no recording is shown");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    sessionId = own;
  }
}

/** What the browser has refused, and what has failed in the page. */
function complaints() {
  return heard.flatMap(({ method, params }) => {
    if (method === "Log.entryAdded") return [params.entry.text];
    if (method === "Runtime.exceptionThrown") return [params.exceptionDetails.exception?.description || params.exceptionDetails.text];
    return [];
  });
}

let code = 0;
try {
  console.log(JSON.stringify(await look()));
} catch (error) {
  console.error([error.message, ...complaints()].join("\n"));
  code = 1;
} finally {
  sessionId = undefined;
  send("Browser.close").catch(() => {});
  await new Promise((resolve) => { chromium.on("exit", resolve); setTimeout(() => { chromium.kill("SIGKILL"); resolve(); }, 5000); });
  if (!asked.profile) rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(code);
