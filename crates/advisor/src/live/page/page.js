// The page: takes a stream or a recording, and shows one log of it at a place in time.

const byId = (id) => document.getElementById(id);
const MARKS = [
  ["R", "recovery", "recovery would begin here"],
  ["C", "checkpoint", "the last checkpoint"],
  ["B", "log_backup", "the next log backup begins here"],
  ["N", "needed_from", "log from here on is still needed"],
];
/** Events in the list at most; search finds the rest. */
const LISTED_MAX = 300;
const ROWS = 50;
/** Milliseconds that new VLFs are lit up. */
const FLASH_MS = 1400;

const recorded = byId("recording");
const recording = recorded ? JSON.parse(recorded.textContent) : null;
const isStill = matchMedia("(prefers-reduced-motion: reduce)");
const state = {
  session: null, database: "", follows: !recording, plays: true, speed: 1, picked: -1, window: { from: 0, to: 0 }, span: 24,
  isWindowFree: false, flash: null, flashUntil: 0, rowsFrom: 0, receivedAt: 0, credit: 0, answered: false, isChosen: false,
};
/** What is drawn, made anew only when the log has changed. */
const view = { log: null, kinds: new Uint8Array(0), edges: new Float64Array(1), marks: [], window: state.window, picked: -1, end: null, flash: null, way: [], sweep: null };
let edgesKey = "";

// Words.

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

function lasting(micros) {
  if (micros < 1000) return Math.round(micros) + " µs";
  const ms = micros / 1000;
  if (ms < 1000) return Math.round(ms) + " ms";
  const seconds = ms / 1000;
  if (seconds < 60) return seconds.toFixed(1) + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min " + Math.floor(seconds % 60) + " s";
  if (seconds < 172800) return Math.floor(seconds / 3600) + " h " + Math.floor((seconds % 3600) / 60) + " min";
  return Math.floor(seconds / 86400) + " days";
}

const clockOf = (micros) => (micros ? new Date(micros / 1000).toISOString().slice(11, 23) : "");
const lsnText = (lsn) => (lsn ? lsn.join(":") : "none");

function put(id, text) {
  const element = byId(id);
  if (element.textContent !== text) element.textContent = text;
}

function make(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

// What is looked at.

const world = () => state.session && state.session.world;
const log = () => world() && world().logs.get(state.database);
const head = () => world() && world().heads.get(state.database);

/** The server's time now: that of the last frame, and what has passed since. */
function now() {
  if (!world()) return 0;
  const isAtEnd = state.session.position === state.session.end;
  const passed = !recording && isAtEnd && !world().greeting.is_modelled ? (performance.now() - state.receivedAt) * 1000 : 0;
  return world().at + passed;
}

function marksOf(one, its) {
  const marks = [];
  if (!one || !its) return marks;
  const add = (letter, lsn, text, colour) => {
    const place = one.placeOf(lsn);
    if (place) marks.push({ letter, text, lsn, colour, ...place });
  };
  const colours = palette();
  add("▸", its.end, "the log is written here", colours.head);
  if (its.oldest) add("T", its.oldest.first, "the oldest transaction needs the log from here");
  for (const [letter, name, text] of MARKS) add(letter, its[name], text);
  const shrink = lastShrink();
  if (shrink && shrink.sequence) add("S", [shrink.sequence, 0, 0], "a shrink stops at this VLF");
  return joined(marks);
}

/** Marks of one place are one mark with several letters. */
function joined(marks) {
  const groups = [];
  for (const mark of marks) {
    const same = groups.find((group) => !group.colour && !mark.colour && group.index === mark.index && Math.abs(group.part - mark.part) < 0.002);
    if (!same) {
      groups.push(mark);
      continue;
    }
    same.letter += mark.letter;
    same.text += "; " + mark.text;
  }
  return groups;
}

/** The last shrink of this log, if it left the file larger than asked for. */
function lastShrink() {
  const events = world().events;
  for (let at = events.length - 1; at >= 0; at -= 1) {
    const event = events[at];
    if (event.kind === "shrink" && event.database === state.database) return event.weight === "warning" ? event : null;
  }
  return null;
}

function refreshView() {
  const one = log(), its = head();
  view.log = one || null;
  const key = one ? [one.database, one.count, one.bytes, byId("equal").checked].join("|") : "";
  if (one && (key !== edgesKey || view.edges.length !== one.count + 1)) {
    view.edges = edgesOf(one, byId("equal").checked);
    edgesKey = key;
  }
  view.kinds = one ? one.kinds(its) : new Uint8Array(0);
  view.end = one && its ? one.placeOf(its.end) : null;
  view.marks = marksOf(one, its);
  if (!one || state.picked >= one.count) state.picked = -1;
  placeWindow();
  view.window = state.window;
  view.picked = state.picked;
  view.flash = performance.now() < state.flashUntil ? state.flash : null;
  view.way = wayPlaces();
  view.sweep = log() ? sweepNow() : null;
}

/** The close-up goes along with the head until somebody moves it. */
function placeWindow() {
  const count = view.log ? view.log.count : 0;
  const span = Math.max(1, Math.min(state.span, count));
  let from = state.window.from;
  if (!state.isWindowFree) {
    const at = view.end ? view.end.index : 0;
    if (at < from || at >= from + span) from = at - Math.floor(span / 4);
  }
  from = Math.max(0, Math.min(count - span, from));
  state.window = { from, to: Math.min(count, from + span) };
}

// Drawing: once a frame of the screen at most, and only when something has changed.

let isDue = false;
function draw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    if (!world()) return;
    refreshView();
    drawRing(byId("ring"), view);
    drawStrip(byId("strip"), view);
    showTexts();
    if (performance.now() < state.flashUntil) setTimeout(draw, state.flashUntil - performance.now() + 5);
  });
}

function showTexts() {
  const its = head();
  const used = its && its.total_bytes ? (100 * its.used_bytes) / its.total_bytes : 0;
  put("center-name", state.database);
  put("center-used", its && its.total_bytes ? (used < 10 ? used.toFixed(1) : used.toFixed(0)) + " %" : "–");
  put("center-wait", its ? its.reuse_wait || its.state : "");
  put("center-count", its && its.vlf_count ? digits(its.active_vlfs) + " of " + digits(its.vlf_count) + " VLFs active" : "");
  byId("ring").setAttribute("aria-label", ringLabel(its, used));
  put("wait-words", its ? its.reuse_words : "");
  byId("wait-words").classList.toggle("held", Boolean(its && its.reuse_wait && its.reuse_wait !== "NOTHING"));
  put("progress", world().progress.join("\n"));
  byId("recovery-play").hidden = lastRecovery().length === 0;
  put("not-read", (world().greeting.not_read || []).join("\n"));
  showFigures(its);
  showPicked();
  showRows();
  showPlayer();
}

function ringLabel(its, used) {
  if (!its) return "No log";
  return `The log of ${its.database}: ${digits(its.vlf_count)} VLFs, ${digits(its.active_vlfs)} of them active, ${used.toFixed(0)} percent of ${bytes(its.total_bytes)} used. ${its.reuse_words}`;
}

let figuresShown = "";
function showFigures(its) {
  const lines = its ? figuresOf(its) : [];
  const text = JSON.stringify(lines);
  if (text === figuresShown) return;
  figuresShown = text;
  byId("figures").replaceChildren(...lines.flatMap(([name, value]) => [make("dt", name), make("dd", value)]));
}

function figuresOf(its) {
  if (its.state !== "ONLINE" && !its.total_bytes) return [["State", its.state]];
  const oldest = its.oldest;
  const lines = [
    ["Size", `${bytes(its.total_bytes)}, ${bytes(its.used_bytes)} used`],
    ["VLFs", `${digits(its.vlf_count)}, ${digits(its.active_vlfs)} active`],
    ["Log reuse wait", its.reuse_wait],
    ["Recovery model", its.recovery_model],
    ["The log ends at", lsnText(its.end)],
    ["Needed from", lsnText(its.needed_from)],
    ["Last checkpoint", lsnText(its.checkpoint)],
    ["Recovery from", lsnText(its.recovery) + (its.recovery_bytes !== null ? `, ${bytes(its.recovery_bytes)} to read` : "")],
    ["Log backup from", lsnText(its.log_backup) + (its.log_backup_at ? `, last one ${its.log_backup_at}` : "")],
    ["Oldest transaction", oldest ? transactionText(oldest) : "none"],
  ];
  if (its.transactions > 1) lines.push(["Transactions open", digits(its.transactions)]);
  lines.push(["Reserve for rollback", bytes(its.reserved_bytes)], ["Growths", growthsText(its)]);
  if (its.flushes) lines.push(["Log writes", `${digits(its.flushes)}, ${bytes(its.flushed_bytes)}`]);
  return lines;
}

function growthsText(its) {
  return digits(its.growths) + (its.growth_waits ? `, ${digits(its.growth_waits)} times somebody waited` : "");
}

function transactionText(oldest) {
  const session = oldest.session ? `session ${oldest.session}` : "the engine's own";
  const age = Math.max(0, now() - oldest.begun);
  const who = oldest.who ? ` (${oldest.who})` : "";
  const reserve = oldest.reserved_bytes ? `, ${bytes(oldest.reserved_bytes)} reserved` : "";
  return `${session}${who}: ${oldest.name}, open for ${lasting(Math.floor(age / 1e6) * 1e6 || age)}, needs the log from ${lsnText(oldest.first)}${reserve}`;
}

function vlfText(index) {
  const one = log();
  const file = one.fileOf(index);
  const its = view.marks.filter((mark) => mark.index === index).map((mark) => mark.text);
  const sequence = one.sequence[index] ? `sequence ${one.sequence[index]}` : "no sequence yet";
  const parity = one.parity[index] ? `, parity ${one.parity[index]}` : "";
  const inside = its.length ? `. In it: ${its.join("; ")}` : "";
  return `VLF ${digits(index + 1)} of ${digits(one.count)}, file ${file.id} at ${digits(one.offset[index])}: ${bytes(one.size[index])}, ${sequence}, ${KIND_WORDS[view.kinds[index]]}${parity}${inside}.`;
}

function showPicked() {
  const { from, to } = state.window;
  put("strip-heading", view.log ? `Close up: VLFs ${digits(from + 1)} to ${digits(to)}` : "Close up");
  byId("inside-open").hidden = !(canLook() && state.picked >= 0 && log() && log().sequence[state.picked]);
  put("picked", state.picked >= 0 && view.log ? vlfText(state.picked) : "Pick a VLF in the ring or here to read about it.");
}

let rowsShown = "";
function showRows() {
  const one = view.log;
  const from = one ? Math.max(0, Math.min(state.rowsFrom, one.count - 1)) : 0;
  const to = one ? Math.min(one.count, from + ROWS) : 0;
  const rows = [];
  for (let at = from; at < to; at += 1) rows.push(rowOf(one, at));
  const key = JSON.stringify([rows, state.picked]);
  if (key === rowsShown) return;
  rowsShown = key;
  byId("rows").replaceChildren(...rows.map((cells, index) => {
    const row = make("tr", undefined, from + index === state.picked ? "picked" : "");
    cells.forEach((cell, column) => {
      const element = make(column === 0 ? "th" : "td", cell);
      if (column === 0) element.scope = "row";
      row.append(element);
    });
    return row;
  }));
  byId("rows-back").disabled = from === 0;
  byId("rows-on").disabled = !one || to >= one.count;
  byId("rows-from").max = one ? one.count : 1;
}

function rowOf(one, at) {
  const inside = view.marks.filter((mark) => mark.index === at).map((mark) => mark.text).join("; ");
  return [digits(at + 1), String(one.fileOf(at).id), digits(one.offset[at]), bytes(one.size[at]), one.sequence[at] ? String(one.sequence[at]) : "", KIND_WORDS[view.kinds[at]], one.parity[at] ? String(one.parity[at]) : "", inside];
}

// Events.

function matches(event, words) {
  if (byId("only").checked && event.database && event.database !== state.database) return false;
  if (!byId("ordinary").checked && event.weight === "ordinary") return false;
  const text = (event.database + " " + event.kind.replace("_", " ") + " " + event.text + " " + (event.why || "")).toLowerCase();
  return words.every((word) => text.includes(word));
}

function showEvents() {
  if (!world()) return;
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = world().events.filter((event) => matches(event, words));
  const shown = found.slice(-LISTED_MAX).reverse();
  const more = found.length > shown.length ? `, the last ${shown.length} shown` : "";
  put("event-count", `${digits(found.length)} of ${digits(world().events.length)} events${more}; the newest first`);
  byId("events").replaceChildren(...shown.map(eventItem));
}

function eventItem(event) {
  const item = make("li", undefined, event.weight);
  const time = make("time", event.since ? `between ${clockOf(event.since).slice(0, 8)} and ${clockOf(event.at).slice(0, 8)}` : clockOf(event.at));
  const text = make("div");
  if (event.database && !byId("only").checked) text.append(make("span", event.database + " ", "of"));
  text.append(event.text);
  if (event.micros !== undefined && event.micros !== null) text.append(` It took ${lasting(event.micros)}.`);
  if (event.why) text.append(" ", make("span", event.why, "why"));
  if (event.sequence && event.database === state.database && log() && log().indexOf(event.sequence) >= 0) {
    const button = make("button", "VLF " + event.sequence, "goto");
    button.type = "button";
    button.setAttribute("aria-label", `Show VLF ${event.sequence} in the ring`);
    button.addEventListener("click", () => pick(log().indexOf(event.sequence)));
    text.append(" ", button);
  }
  item.append(time, text);
  return item;
}

let eventsDue = 0;
function eventsSoon() {
  if (eventsDue) return;
  eventsDue = setTimeout(() => {
    eventsDue = 0;
    showEvents();
  }, 150);
}

/** The last thing that deserves to be seen, above the ring; screen readers say it. */
function announce(events) {
  const mine = events.filter((event) => (!event.database || event.database === state.database) && event.weight !== "ordinary");
  // What a lesson says stays until it says something else.
  const isLesson = recording && recording.question;
  const last = isLesson ? mine.findLast((event) => event.kind === "step") : mine[mine.length - 1];
  if (!last) return;
  const took = last.micros !== undefined && last.micros !== null ? ` It took ${lasting(last.micros)}.` : "";
  put("now", `${last.text}${took} ${last.why || ""}`.trim());
  byId("now").classList.toggle("warning", last.weight === "warning");
}

// Time.

function go(position, isStep) {
  if (!state.session) return;
  const events = state.session.seek(position);
  afterMove(events, isStep);
}

function afterMove(events) {
  const grown = world().grown;
  if (grown && grown.frame === world().frame && grown.database === state.database && !isStill.matches) {
    state.flash = newRanges(grown);
    state.flashUntil = performance.now() + FLASH_MS;
  }
  announce(events);
  chooseDatabases();
  if (events.some((event) => event.span && event.database === state.database)) playRecovery();
  eventsSoon();
  draw();
}

/** The VLFs of a grown log that the former one had not. */
function newRanges({ log: grown, former }) {
  return grown.files.flatMap((file) => {
    const before = former.files.find((one) => one.id === file.id);
    const count = before ? before.count : 0;
    return file.count > count ? [[file.from + count, file.from + file.count]] : [];
  });
}

function showPlayer() {
  const { session } = state;
  const slider = byId("slider");
  slider.max = session.end;
  slider.value = session.position;
  const behind = session.end - session.position;
  const place = recording ? `step ${session.position} of ${session.end}` : behind ? `${digits(behind)} steps behind` : "live";
  put("clock", `${clockOf(now()).slice(0, 12)}, ${place}`);
  slider.setAttribute("aria-valuetext", place);
  byId("step-back").disabled = session.position === 0;
  byId("step-on").disabled = session.position >= session.end;
  put("play", state.plays ? "Pause" : "Play");
  byId("play").setAttribute("aria-pressed", String(state.plays));
  byId("live").classList.toggle("on", state.follows);
  showQuestion();
}

function setPlaying(plays) {
  state.plays = plays;
  if (!plays) state.follows = false;
  if (plays && state.session && state.session.position >= state.session.end) {
    if (recording) go(0);
    else state.follows = true;
  }
  draw();
}

function step(count) {
  state.plays = false;
  state.follows = false;
  go(state.session.position + count, true);
}

function goLive() {
  state.follows = !recording;
  state.plays = true;
  go(state.session.end);
}

/** Microseconds between a frame and the one before it, as they are played. */
function waitBefore(position) {
  const { frames } = state.session;
  const former = position > 0 ? frames[position - 1] : null;
  const isSaid = former && (former.events || []).some((event) => event.kind === "step");
  const passed = frames[position].at - (former ? former.at : state.session.base.at);
  // A sentence is read before what it speaks of is seen; a pause of the session is not sat through.
  const least = isSaid ? 3e6 : recording && recording.question ? 3e5 : recording ? 4e4 : 0;
  return Math.max(least, Math.min(1.5e6, passed));
}

/** Plays on: in a recording, and behind the end of a live session, by the times of the frames. */
let tickedAt = 0;
function tick(time) {
  const passed = Math.min(250, time - tickedAt);
  tickedAt = time;
  requestAnimationFrame(tick);
  const { session } = state;
  if (!session || !state.plays || state.follows || session.position >= session.end) {
    state.credit = 0;
    if (session && recording && state.plays && session.position >= session.end) setPlaying(false);
    return;
  }
  state.credit += passed * 1000 * state.speed;
  let position = session.position;
  while (position < session.end) {
    // A pause of the session is not sat through.
    const wait = waitBefore(position);
    if (state.credit < wait) break;
    state.credit -= wait;
    position += 1;
  }
  if (position > session.position) go(position);
}

function setSpeed(by) {
  const speeds = [...byId("speed").options].map((option) => Number(option.value));
  const at = Math.max(0, Math.min(speeds.length - 1, speeds.indexOf(state.speed) + by));
  state.speed = speeds[at];
  byId("speed").value = String(state.speed);
}

// Choosing.

const SYSTEM = ["master", "model", "msdb", "tempdb"];

let databasesShown = "";
function chooseDatabases() {
  const names = [...world().heads.keys()].sort((one, other) => SYSTEM.includes(one) - SYSTEM.includes(other) || one.localeCompare(other));
  const key = names.join("\n");
  if (key !== databasesShown) {
    databasesShown = key;
    byId("database").replaceChildren(...names.map((name) => Object.assign(make("option", name), { value: name })));
  }
  // Until somebody chooses, a user's database comes before those that every server has.
  const isBetter = !state.isChosen && SYSTEM.includes(state.database) && names[0] !== state.database;
  if (!names.includes(state.database) || isBetter) chooseDatabase(names[0] || "");
  byId("database").value = state.database;
}

function chooseDatabase(name) {
  state.database = name;
  state.picked = -1;
  state.isWindowFree = false;
  state.window = { from: 0, to: 0 };
  state.rowsFrom = 0;
  closeInside();
  if (!(recording && recording.question)) put("now", "");
  eventsSoon();
  draw();
}

function pick(index) {
  if (!log() || index < 0 || index >= log().count) return;
  state.picked = index;
  const { from, to } = state.window;
  if (index < from || index >= to) {
    state.isWindowFree = true;
    state.window.from = index - Math.floor(state.span / 2);
  }
  if (index < state.rowsFrom || index >= state.rowsFrom + ROWS) {
    state.rowsFrom = Math.floor(index / ROWS) * ROWS;
    byId("rows-from").value = state.rowsFrom + 1;
  }
  draw();
}

function zoom(factor) {
  const count = log() ? log().count : 1;
  const middle = state.picked >= state.window.from && state.picked < state.window.to ? state.picked : (state.window.from + state.window.to) / 2;
  state.span = Math.round(Math.max(4, Math.min(count, 4000, state.span * factor)));
  state.window.from = Math.round(middle - state.span / 2);
  state.isWindowFree = true;
  draw();
}

function move(by) {
  state.isWindowFree = true;
  state.window.from += by;
  draw();
}

function toHead() {
  state.isWindowFree = false;
  if (view.end) state.picked = view.end.index;
  draw();
}

// The question of a lesson.

function showQuestion() {
  const question = recording && recording.question;
  const isOver = question && state.session.position >= state.session.end;
  byId("question").hidden = !(isOver || state.answered);
  if (!question) return;
  put("question-text", question.text);
  put("answer", question.answer);
  byId("answer").hidden = !state.answered;
  put("answer-show", question.sequence ? "Show the answer in the ring" : "Show the answer");
}

function showAnswer() {
  const { question } = recording;
  state.answered = true;
  state.plays = false;
  go(state.session.end);
  if (question.sequence && log()) pick(log().indexOf(question.sequence));
  byId("ring").scrollIntoView({ block: "center", behavior: isStill.matches ? "auto" : "smooth" });
  draw();
}

// Recordings.

async function save() {
  const text = await recordingText();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  link.download = "vlflab-recording.html";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** This page with the session inside. */
async function recordingText() {
  const source = await (await fetch(location.href)).text();
  // The page as it was sent, without the one-time word of its server.
  const page = source.replace(/<(script|style) nonce="[0-9a-f]*"/g, "<$1");
  const data = JSON.stringify(state.session.toRecording()).replace(/</g, "\\u003c");
  const mark = "<script>\"use strict\"";
  const at = page.lastIndexOf(mark);
  return page.slice(0, at) + "<script type=\"application/json\" id=\"recording\">" + data + "<\/script>\n" + page.slice(at);
}

/** Plays a recording, or stands at the place that the address names: `#step-12`, `#end`. */
function openAt(place) {
  setPlaying(!place && !isStill.matches);
  if (place) go(place[1] === undefined ? state.session.end : Number(place[1]));
}

// The stream.

function begin(stand) {
  const isFirst = !state.session;
  state.session = new Session(stand);
  state.receivedAt = performance.now();
  const { title, server } = stand.greeting;
  put("title", title);
  document.title = title + ": the log, live";
  if (stand.missed) {
    put("now", `${digits(stand.missed)} steps were skipped: this page could not follow. It goes on from here.`);
  }
  if (isFirst) state.follows = !recording;
  put("connection", connectionText(server, stand.greeting));
  afterMove(stand.events);
  showEvents();
}

function connectionText(server, greeting) {
  if (recording) return `A recording of ${server}${greeting.is_modelled ? ", in the time of a modelled disk" : ""}.`;
  const how = greeting.tells_itself ? "the server tells what happens" : `read every ${greeting.interval_ms / 1000} s; what happens between two readings is known by their difference`;
  return `${server}, ${how}.`;
}

function listen() {
  const source = new EventSource("events" + location.search);
  source.addEventListener("stand", (message) => begin(JSON.parse(message.data)));
  source.addEventListener("frame", (message) => {
    const { session } = state;
    if (!session) return;
    const frame = JSON.parse(message.data);
    session.add(frame);
    if (state.follows) {
      state.receivedAt = performance.now();
      go(session.end);
    } else {
      draw();
    }
  });
  source.addEventListener("bye", () => {
    source.close();
    put("connection", "The server has stopped. What is here stays, and can be saved.");
  });
  source.addEventListener("error", () => {
    put("connection", source.readyState === EventSource.CLOSED ? "The server no longer answers this address." : "The connection is lost; trying again…");
  });
}

// Hands.

function onKey(event) {
  const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open || !state.session) return;
  if (inField) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const inLog = event.target.id === "ring" || event.target.id === "strip";
  const isButton = event.target.tagName === "BUTTON";
  const picked = state.picked >= 0 ? state.picked : state.window.from;
  const keys = {
    " ": isButton ? null : () => setPlaying(!state.plays),
    ArrowLeft: () => (inLog ? pick(picked - 1) : step(-1)),
    ArrowRight: () => (inLog ? pick(picked + 1) : step(1)),
    Home: () => (inLog ? pick(0) : (setPlaying(false), go(0))),
    End: () => (inLog ? pick(log().count - 1) : goLive()),
    "<": () => setSpeed(-1),
    ">": () => setSpeed(1),
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => zoom(2),
    h: () => { toHead(); byId("ring").focus(); },
    d: nextDatabase,
    e: () => byId("equal").click(),
    i: lookInside,
    r: playRecovery,
    Escape: closeInside,
    "/": () => byId("search").focus(),
    "?": () => byId("help").showModal(),
  };
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function nextDatabase() {
  const options = [...byId("database").options].map((option) => option.value);
  state.isChosen = true;
  chooseDatabase(options[(options.indexOf(state.database) + 1) % options.length]);
  byId("database").value = state.database;
}

function onStripWheel(event) {
  if (!event.ctrlKey && !event.shiftKey && document.activeElement !== byId("strip")) return;
  event.preventDefault();
  if (event.shiftKey) move(Math.sign(event.deltaY || event.deltaX) * Math.max(1, Math.round(state.span / 10)));
  else zoom(event.deltaY > 0 ? 1.25 : 0.8);
}

function stripIndexAt(event) {
  const box = byId("strip").getBoundingClientRect();
  const { from, to } = state.window;
  const span = view.edges[to] - view.edges[from];
  return indexAtPart(view.edges, view.edges[from] + ((event.clientX - box.left) / box.width) * span);
}

function wire() {
  const on = (id, act, kind = "click") => byId(id).addEventListener(kind, act);
  on("play", () => setPlaying(!state.plays));
  on("step-back", () => step(-1));
  on("step-on", () => step(1));
  on("live", goLive);
  on("slider", (event) => { state.plays = false; state.follows = false; go(Number(event.target.value)); }, "input");
  on("speed", (event) => { state.speed = Number(event.target.value); }, "change");
  on("save", save);
  on("database", (event) => { state.isChosen = true; chooseDatabase(event.target.value); }, "change");
  on("equal", draw, "change");
  on("search", eventsSoon, "input");
  on("only", showEvents, "change");
  on("ordinary", showEvents, "change");
  on("help-open", () => byId("help").showModal());
  on("zoom-in", () => zoom(0.5));
  on("zoom-out", () => zoom(2));
  on("strip-back", () => move(-Math.max(1, Math.round(state.span / 2))));
  on("strip-on", () => move(Math.max(1, Math.round(state.span / 2))));
  on("strip-head-button", toHead);
  on("rows-back", () => { state.rowsFrom = Math.max(0, state.rowsFrom - ROWS); byId("rows-from").value = state.rowsFrom + 1; draw(); });
  on("rows-on", () => { state.rowsFrom += ROWS; byId("rows-from").value = state.rowsFrom + 1; draw(); });
  on("rows-from", (event) => { state.rowsFrom = Math.max(0, Math.floor(Number(event.target.value) || 1) - 1); draw(); }, "change");
  on("ring", (event) => { const index = ringIndexAt(byId("ring"), view, event); if (index >= 0) pick(index); });
  on("strip", (event) => { if (view.log) pick(stripIndexAt(event)); });
  byId("strip").addEventListener("wheel", onStripWheel, { passive: false });
  on("answer-show", showAnswer);
  wireInside();
  on("recovery-play", playRecovery);
  document.addEventListener("keydown", onKey);
  window.addEventListener("resize", draw);
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", draw);
  window.addEventListener("beforeprint", () => { refreshView(); drawRing(byId("ring"), view); drawStrip(byId("strip"), view); });
  new ResizeObserver(draw).observe(byId("ring"));
}

function showLegend() {
  const kinds = [["head", "the log stands here"], ["active", "active"], ["free", "reusable"], ["unused", "never used"]];
  const items = kinds.map(([name, text]) => {
    const item = make("li");
    item.append(make("i", undefined, "key-" + name), text);
    return item;
  });
  const letters = [["T", "oldest transaction"], ["R", "recovery"], ["C", "checkpoint"], ["B", "log backup"], ["N", "needed from"], ["S", "a shrink stops"]];
  for (const [letter, text] of letters) {
    const item = make("li");
    item.append(make("b", letter), text);
    items.push(item);
  }
  byId("legend").replaceChildren(...items);
}

wire();
showLegend();
if (recording) {
  begin(recording.first);
  recording.frames.forEach((frame) => state.session.add(frame));
  byId("live").hidden = true;
  byId("save").hidden = true;
  openAt(/^#(?:step-(\d+)|end)$/.exec(location.hash));
} else {
  listen();
}
setInterval(() => { if (!document.hidden && !recording && state.follows) draw(); }, 1000);
requestAnimationFrame(tick);
