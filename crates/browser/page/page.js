// The page: asks the worker, draws what it answers. Model and drawing are those of the live page, before this.

const byId = (id) => document.getElementById(id);
const textOf = (id) => byId(id).textContent;
/** Rows of a log that are shown in the close-up at first. */
const SPAN = 24;
/** Bytes of a text that is pasted, at most. */
const PASTE_MAX = 64 * 1024 * 1024;

const state = {
  worker: null, module: null, next: 1, waiting: new Map(), files: [], text: "", answer: null, plan: null,
  rings: [], ring: null, picked: -1, span: SPAN, window: { from: 0, to: 0 }, readMs: 0, memoryBytes: 0,
};
const view = { log: null, kinds: new Uint8Array(0), edges: new Float64Array(1), marks: [], window: state.window, picked: -1, end: null, flash: null, way: [], sweep: null };

const digits = (number) => Math.round(number).toLocaleString("en-GB");

function bytes(count) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let value = count, unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return (value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1)) + " " + units[unit];
}

function make(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

function put(id, text) {
  const element = byId(id);
  if (element.textContent !== text) element.textContent = text;
}

// The worker.

function startWorker() {
  const source = URL.createObjectURL(new Blob([textOf("worker")], { type: "text/javascript" }));
  const worker = new Worker(source);
  state.worker = worker;
  worker.onmessage = ({ data }) => {
    URL.revokeObjectURL(source);
    if (data.failed) fail(`This cannot be read: ${data.failed}`);
    if (data.progress !== undefined) byId("progress").value = data.progress;
    if (data.id) settle(data.id, data);
  };
  worker.onerror = (event) => fail(event.message || "WebAssembly does not start in this browser");
  worker.postMessage({ module: state.module });
}

/** The page's own copy goes when it is compiled. */
async function compiled() {
  const wasm = Uint8Array.from(atob(textOf("wasm")), (letter) => letter.charCodeAt(0));
  byId("wasm").remove();
  return WebAssembly.compile(wasm);
}

function settle(id, data) {
  const wait = state.waiting.get(id);
  state.waiting.delete(id);
  state.memoryBytes = data.memoryBytes;
  if (wait) wait.resolve(JSON.parse(data.text));
}

/** The worker has ended: all that was asked of it fails, and another one begins. */
function fail(reason) {
  state.worker.terminate();
  const waiting = [...state.waiting.values()];
  state.waiting.clear();
  startWorker();
  waiting.forEach((wait) => wait.resolve({ error: reason }));
}

function ask(question, files) {
  const id = state.next;
  state.next += 1;
  return new Promise((resolve) => {
    state.waiting.set(id, { resolve });
    state.worker.postMessage({ id, question: JSON.stringify(question), files: files || [] });
  });
}

/** The same, with what people see meanwhile. */
async function asked(question, files, doing) {
  const began = performance.now();
  put("status", doing);
  const progress = byId("progress");
  const later = setTimeout(() => { progress.hidden = false; byId("stop").hidden = false; }, 300);
  progress.value = 0;
  const answer = await ask(question, files);
  clearTimeout(later);
  progress.hidden = true;
  byId("stop").hidden = true;
  state.readMs = performance.now() - began;
  put("status", answer.error ? "That did not work." : `Done in ${(state.readMs / 1000).toFixed(state.readMs < 1000 ? 2 : 1)} s.`);
  return answer;
}

const disks = JSON.parse(textOf("disks"));
const chosen = () => ({ version: byId("version").value, disk: disks[byId("disk").selectedIndex] });
const named = (files) => files.map((file) => ({ name: file.name, bytes: file.size }));

// What is opened.

async function open(files) {
  state.files = [...files];
  state.text = "";
  if (state.files.length > 0) await openAgain();
}

async function paste(text) {
  state.files = [];
  state.text = text;
  await openAgain();
}

/** Asks what is open, with the version and the disk that are chosen. */
async function openAgain(isSame) {
  const question = state.text ? { ask: "paste", text: state.text, ...chosen() } : { ask: "open", files: named(state.files), ...chosen() };
  const answer = await asked(question, state.files, state.text ? "Reading the rows…" : `Reading ${state.files.map((file) => file.name).join(", ")}…`);
  put("failed", answer.error || "");
  if (answer.error) return;
  if (answer.kind === "recording") {
    showRecording(answer);
    return;
  }
  state.answer = answer;
  showAnswer(answer);
  const hasLog = canPlan(answer);
  byId("start-existing").disabled = !hasLog;
  byId(hasLog ? "start-existing" : "start-create").checked = true;
  if (hasLog && !isSame) {
    for (const id of ["grow", "growth", "to", "target-vlfs"]) byId(id).value = "";
    byId("target-size").value = Math.ceil(state.rings[0].head.total_bytes / 1048576) + "MB";
  }
  if (hasLog) await plan();
  if (!isSame) byId("answer-heading").focus({ preventScroll: true });
}

/** Another version or disk: what depends on it is asked again. */
async function chooseAgain() {
  if (state.answer && state.answer.kind !== "database") await openAgain(true);
  else if (state.plan) await plan();
}

const canPlan = (answer) => (answer.kind === "log" || answer.kind === "rows") && answer.rings.length > 0;

function showAnswer(answer) {
  byId("answer").hidden = false;
  put("answer-heading", answer.name);
  const isLog = answer.kind === "log";
  const damage = answer.damage_count ? `Damage in ${digits(answer.damage_count)} ${answer.damage_count === 1 ? "place" : "places"}. ` : "";
  put("verdict", damage + (answer.verdict || (isLog ? "" : verdictOf(answer))));
  byId("verdict").classList.toggle("bad", Boolean(answer.damage_count));
  byId("facts").replaceChildren(...(answer.facts || []).flatMap(([name, value]) => [make("dt", name), make("dd", value)]));
  byId("save-csv").hidden = !isLog;
  byId("save-json").hidden = !(isLog || answer.kind === "database");
  byId("tables-card").hidden = !answer.tables_html;
  byId("tables").innerHTML = answer.tables_html || "";
  for (const region of byId("tables").querySelectorAll(".scroll")) region.tabIndex = 0;
  byId("text-card").hidden = false;
  byId("text-box").open = answer.kind === "database";
  put("text", answer.advice_text ? `${answer.text}\n${answer.advice_text}` : answer.text);
  showFindings(answer.advice);
  setRings(answer.rings);
}

function verdictOf(answer) {
  if (!answer.advice) return "";
  return answer.advice.verdicts.slice(0, 10).map((one) => `${one.database}: ${one.text}`).join("\n");
}

// Findings.

function showFindings(advice) {
  byId("findings-card").hidden = !advice;
  if (!advice) return;
  const found = advice.findings;
  const toDo = found.filter((finding) => finding.outcome === "act").length;
  put("findings-count", toDo === 0 ? "There is nothing to do, as far as this can be told." : `${digits(toDo)} to do, the most urgent first.`);
  byId("findings").replaceChildren(...found.map(findingItem));
}

function findingItem(finding) {
  const item = make("li", undefined, finding.outcome);
  const words = { act: "", nothing_to_do: "Nothing to do: ", not_checked: "Not checked: " };
  item.append(make("h3", words[finding.outcome] + finding.headline));
  if (finding.evidence.length) {
    const list = make("ul");
    list.append(...finding.evidence.map((line) => make("li", line)));
    item.append(list);
  }
  const costs = [["Now", "now"], ["A day", "per_day"], ["At a restart", "at_restart"]];
  for (const [label, name] of costs) {
    const cost = finding.cost[name];
    if (cost) item.append(make("p", `${label}: ${cost.text}`));
  }
  if (finding.otherwise) item.append(make("p", `Otherwise: ${finding.otherwise}`));
  if (finding.tsql) item.append(scriptBox(finding.tsql));
  return item;
}

function scriptBox(tsql) {
  const box = make("details");
  const copy = make("button", "Copy");
  copy.type = "button";
  copy.addEventListener("click", () => copyText(tsql, copy));
  const script = make("pre", tsql);
  script.tabIndex = 0;
  box.append(make("summary", "T-SQL"), copy, script);
  return box;
}

async function copyText(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch (error) {
    button.textContent = "The browser does not allow it: select the text";
  }
  setTimeout(() => { button.textContent = label; }, 2500);
}

// The ring.

function setRings(rings) {
  state.rings = rings;
  byId("which-label").hidden = rings.length < 2;
  byId("which").replaceChildren(...rings.map((ring) => make("option", ring.map.database)));
  byId("ring-card").hidden = rings.length === 0;
  if (rings.length) setRing(rings[0]);
}

function setRing(ring) {
  const log = new Log(ring.map);
  state.ring = ring;
  state.picked = -1;
  state.window = { from: 0, to: 0 };
  view.log = log;
  view.kinds = ring.added_from === null ? log.kinds(ring.head) : plannedKinds(ring, log);
  view.end = log.placeOf(ring.head.end);
  view.marks = marksOf(ring, log);
  view.edges = edgesOf(log, byId("equal").checked);
  put("center-count", digits(log.count));
  put("center-bytes", bytes(log.bytes));
  showLegend(ring);
  byId("ring").setAttribute("aria-label", ringLabel(ring, log));
  if (view.end) state.window.from = Math.max(0, view.end.index - SPAN / 4);
  draw();
}

/** What was there is reusable to the eye, and growths take turns with two colours. */
function plannedKinds(ring, log) {
  const growths = expand(ring.growths, log.count, Float64Array);
  return Uint8Array.from(growths, (growth, at) => (at < ring.added_from ? FREE : growth % 2 ? ACTIVE : PENDING));
}

function ringLabel(ring, log) {
  if (ring.added_from !== null) return `The planned log: ${digits(log.count)} VLFs in ${bytes(log.bytes)}, ${digits(log.count - ring.added_from)} of them new.`;
  const count = (kind) => view.kinds.filter((one) => one === kind).length;
  const damage = ring.damaged.length ? ` ${digits(ring.damaged.length)} have damage.` : "";
  return `The log ${ring.map.database}: ${digits(log.count)} VLFs in ${bytes(log.bytes)}, ${digits(count(ACTIVE) + count(HEAD))} active, ${digits(count(UNUSED))} never used.${damage} The arrow keys go from VLF to VLF.`;
}

function marksOf(ring, log) {
  const colours = palette();
  const marks = [];
  const add = (letter, place, text, colour) => { if (place) marks.push({ letter, text, colour, ...place }); };
  add("▸", log.placeOf(ring.head.end), "the log ends here", colours.head);
  add("C", log.placeOf(ring.head.checkpoint), "the last complete checkpoint");
  add("N", log.placeOf(ring.head.needed_from), "log from here on is still needed");
  const damaged = getComputedStyle(document.documentElement).getPropertyValue("--damaged").trim();
  ring.damaged.slice(0, 12).forEach((index) => add("!", { index, part: 0.5 }, "damaged", damaged));
  return marks;
}

function showLegend(ring) {
  const isPlan = ring.added_from !== null;
  const kinds = isPlan
    ? [["free", "there before the growths"], ["active", "added, odd growths"], ["pending", "added, even growths"]]
    : [["head", "the log ends here"], ["active", "active"], ["free", "reusable"], ["unused", "never used"]];
  const items = kinds.map(([name, text]) => {
    const item = make("li");
    item.append(make("i", undefined, "key-" + name), text);
    return item;
  });
  const letters = isPlan ? [] : [["▸", "end of the log"], ["C", "last checkpoint"], ["!", "damage"]];
  for (const [letter, text] of letters) {
    if (!view.marks.some((mark) => mark.letter === letter)) continue;
    const item = make("li");
    item.append(make("b", letter), text);
    items.push(item);
  }
  byId("legend").replaceChildren(...items);
}

let isDue = false;
function draw() {
  if (isDue || !view.log) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    placeWindow();
    view.picked = state.picked;
    drawRing(byId("ring"), view);
    drawStrip(byId("strip"), view);
    put("strip-heading", `Close up: VLFs ${digits(state.window.from + 1)} to ${digits(state.window.to)}`);
    put("picked", state.picked >= 0 ? vlfText(state.picked) : "Pick a VLF in the ring or here to read about it.");
  });
}

function placeWindow() {
  const { count } = view.log;
  const span = Math.max(1, Math.min(state.span, count));
  const from = Math.max(0, Math.min(count - span, state.window.from));
  state.window = { from, to: from + span };
  view.window = state.window;
}

function vlfText(index) {
  const { log } = view;
  const place = `VLF ${digits(index + 1)} of ${digits(log.count)}, at ${digits(log.offset[index])}: ${bytes(log.size[index])}`;
  if (state.ring.added_from !== null) {
    const growth = expand(state.ring.growths, log.count, Float64Array)[index];
    return `${place}, ${index < state.ring.added_from ? "there before the growths" : `made by growth ${digits(growth)}`}.`;
  }
  const sequence = log.sequence[index] ? `sequence ${log.sequence[index]}` : "no sequence yet";
  const parity = log.parity[index] ? `, parity ${log.parity[index]}` : "";
  const inside = view.marks.filter((mark) => mark.index === index).map((mark) => mark.text);
  const isDamaged = state.ring.damaged.includes(index) && !inside.includes("damaged");
  const words = [...inside, ...(isDamaged ? ["damaged"] : [])];
  return `${place}, ${sequence}, ${KIND_WORDS[view.kinds[index]]}${parity}${words.length ? `. In it: ${words.join("; ")}` : ""}.`;
}

function pick(index) {
  state.picked = Math.max(0, Math.min(view.log.count - 1, index));
  const { from, to } = state.window;
  if (state.picked < from || state.picked >= to) state.window.from = state.picked - Math.floor((to - from) / 2);
  draw();
}

function zoom(factor) {
  const middle = (state.window.from + state.window.to) / 2;
  state.span = Math.max(4, Math.min(view.log.count, Math.round(state.span * factor)));
  state.window.from = Math.round(middle - state.span / 2);
  draw();
}

function move(by) {
  state.window.from += by;
  draw();
}

// Plans.

async function plan() {
  const isExisting = byId("start-existing").checked && !byId("start-existing").disabled;
  const value = (id) => byId(id).value;
  const log = byId("which").selectedIndex + 1;
  const form = {
    ask: "plan", ...chosen(), initial: value("initial"), grow: value("grow"), growth: value("growth"), to: value("to"),
    target_size: value("target-size"), target_vlfs: value("target-vlfs"), database: value("database"), log_name: value("log-name"),
  };
  if (isExisting && state.text) Object.assign(form, { text: state.text, log: state.rings.length > 1 ? log : 0 });
  if (isExisting && !state.text) await existingOf(form);
  const answer = await asked(form, isExisting ? state.files : [], "Planning…");
  put("plan-failed", answer.error || "");
  byId("plan-answer").hidden = Boolean(answer.error);
  if (answer.error) return;
  state.plan = answer;
  put("plan-title", answer.title);
  put("plan-verdict", answer.verdict);
  byId("plan-sections").innerHTML = answer.sections_html;
  for (const region of byId("plan-sections").querySelectorAll(".scroll, pre")) region.tabIndex = 0;
  byId("plan-copy").hidden = !answer.tsql;
  if (!state.answer) setRings(answer.rings);
}

/** A log file is planned from by its headers; rows in a file by their text. */
async function existingOf(form) {
  if (state.answer.kind === "log") {
    form.files = named(state.files);
    return;
  }
  form.text = await textIn(state.files[0]);
  form.log = state.rings.length > 1 ? byId("which").selectedIndex + 1 : 0;
}

/** Text in UTF-8, or in the UTF-16 that PowerShell writes. */
async function textIn(file) {
  const buffer = new Uint8Array(await file.arrayBuffer());
  const isWide = buffer[0] === 0xff && buffer[1] === 0xfe;
  return new TextDecoder(isWide ? "utf-16le" : "utf-8").decode(buffer);
}

// Recordings.

function showRecording(answer) {
  byId("recording-card").hidden = false;
  put("recording-heading", answer.name || "A recording");
  byId("recording-frame").srcdoc = answer.page;
  byId("recording-heading").focus();
  byId("recording-card").scrollIntoView();
}

function closeRecording() {
  byId("recording-frame").removeAttribute("srcdoc");
  byId("recording-card").hidden = true;
}

// Files to keep.

async function save(format) {
  const answer = await asked({ ask: "export", files: named(state.files), format }, state.files, "Writing…");
  put("failed", answer.error || "");
  if (answer.error) return;
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([answer.text]));
  link.download = answer.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// Hands.

function onKey(event) {
  const keys = {
    ArrowLeft: () => pick(state.picked - 1), ArrowRight: () => pick(state.picked + 1),
    Home: () => pick(0), End: () => pick(view.log.count - 1), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
  };
  const act = view.log && !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function stripIndexAt(event) {
  const box = byId("strip").getBoundingClientRect();
  const { from, to } = state.window;
  const span = view.edges[to] - view.edges[from];
  return indexAtPart(view.edges, view.edges[from] + ((event.clientX - box.left) / box.width) * span);
}

function wireFiles() {
  const body = document.body;
  byId("file").addEventListener("change", (event) => open(event.target.files));
  body.addEventListener("dragover", (event) => { event.preventDefault(); body.classList.add("over"); });
  body.addEventListener("dragleave", () => body.classList.remove("over"));
  body.addEventListener("drop", (event) => {
    event.preventDefault();
    body.classList.remove("over");
    if (event.dataTransfer.files.length) open(event.dataTransfer.files);
    else paste(event.dataTransfer.getData("text/plain"));
  });
  byId("paste-read").addEventListener("click", () => {
    const text = byId("paste").value;
    if (text.length > PASTE_MAX) put("failed", "That is more text than is read here.");
    else if (text.trim()) paste(text);
  });
  byId("example").addEventListener("click", () => {
    byId("paste").value = textOf("example-rows").trim();
    byId("paste-box").open = true;
    paste(byId("paste").value);
  });
  byId("stop").addEventListener("click", () => fail("Reading was stopped."));
}

function wire() {
  const on = (id, act, kind = "click") => byId(id).addEventListener(kind, act);
  wireFiles();
  on("which", (event) => { setRing(state.rings[event.target.selectedIndex]); if (byId("start-existing").checked) plan(); }, "change");
  on("equal", () => { view.edges = edgesOf(view.log, byId("equal").checked); draw(); }, "change");
  for (const id of ["version", "disk"]) on(id, chooseAgain, "change");
  on("zoom-in", () => zoom(0.5));
  on("zoom-out", () => zoom(2));
  on("strip-back", () => move(-Math.max(1, Math.round(state.span / 2))));
  on("strip-on", () => move(Math.max(1, Math.round(state.span / 2))));
  on("ring", (event) => { const index = ringIndexAt(byId("ring"), view, event); if (index >= 0) pick(index); });
  on("strip", (event) => { if (view.log) pick(stripIndexAt(event)); });
  on("ring", onKey, "keydown");
  on("strip", onKey, "keydown");
  on("plan-form", (event) => { event.preventDefault(); plan(); }, "submit");
  on("plan-draw", () => { setRings(state.plan.rings); byId("ring-card").scrollIntoView({ block: "center" }); });
  on("plan-copy", (event) => copyText(state.plan.tsql, event.target));
  on("recording-close", closeRecording);
  on("save-json", () => save("json"));
  on("save-csv", () => save("csv"));
  window.addEventListener("resize", draw);
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    matchMedia(query).addEventListener("change", () => { if (state.ring) view.marks = marksOf(state.ring, view.log); draw(); });
  }
  new ResizeObserver(draw).observe(byId("ring"));
}

async function begin() {
  wire();
  byId("disk").replaceChildren(...disks.map((disk) => {
    const option = make("option", disk.name);
    option.title = disk.title;
    return option;
  }));
  byId("disk").value = "azure-p30";
  state.module = await compiled();
  startWorker();
  const choices = await ask({ ask: "choices" });
  byId("version").replaceChildren(...choices.versions.map((version) => make("option", version)));
  byId("version").value = choices.version;
  put("paste-hint", choices.paste_hint.replace(/, and pass that to vlflab advise --from FILE\s+--sql-version VERSION/, ", and paste it here"));
  put("paste-script", choices.paste_script);
  put("product", `${choices.product}, in WebAssembly.`);
  put("status", "Ready.");
}

begin().catch((error) => put("status", `This browser cannot run the page: ${error.message}`));
