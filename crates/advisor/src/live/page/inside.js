// Inside a VLF: its blocks and records, a transaction's way through the log, a page beside its records. Asked of the server when somebody looks.

/** Rows of a table that are shown at once. */
const RECORD_ROWS = 200;
/** Records of a way that are listed from its begin, and from its end. */
const LISTED = 60;
const PAGE_BYTES = 8192;
const PAGE_HEADER_BYTES = 96;
const PAGE_LINES = 8;

const inside = { vlf: null, block: null, way: null, page: null, asked: 0, shown: RECORD_ROWS, blocksDrawn: null };

const canLook = () => !recording && Boolean(state.session && world().greeting.looks_inside);
const sameLsn = (one, other) => Boolean(one && other) && one.every((part, at) => part === other[at]);

/** Asks the server; a later question makes the answer to this one void. */
async function ask(path, parameters) {
  inside.asked += 1;
  const own = inside.asked;
  byId("inside").hidden = false;
  put("inside-note", "Reading the log…");
  const query = new URLSearchParams({ ...parameters, database: state.database, token: new URLSearchParams(location.search).get("token") });
  // The server takes percent signs alone.
  const answer = await fetch(`${path}?${query.toString().replace(/\+/g, "%20")}`).catch(() => null);
  if (own !== inside.asked) return null;
  if (!answer || !answer.ok) {
    put("inside-note", answer ? (await answer.text()).trim() : "The server no longer answers.");
    return null;
  }
  const found = await answer.json();
  return own === inside.asked ? found : null;
}

function closeInside() {
  Object.assign(inside, { vlf: null, block: null, way: null, page: null, asked: inside.asked + 1 });
  byId("inside").hidden = true;
  draw();
}

/** Opens the picked VLF. */
async function lookInside() {
  if (!canLook() || state.picked < 0 || !log().sequence[state.picked]) return;
  const sequence = log().sequence[state.picked];
  const found = await ask("vlf", { sequence });
  if (!found) return;
  Object.assign(inside, { vlf: { sequence, database: state.database, ...found }, block: null, shown: RECORD_ROWS });
  showInside();
  byId("inside-heading").focus();
}

async function moreRecords() {
  const { vlf } = inside;
  inside.shown += RECORD_ROWS;
  if (inside.shown > rowsOfBlock().length && vlf.cut_behind) {
    const found = await ask("vlf", { sequence: vlf.sequence, after: vlf.records[vlf.records.length - 1].lsn.join(":") });
    if (!found) return;
    vlf.records = vlf.records.concat(found.records);
    vlf.cut_behind = found.cut_behind;
  }
  showInside();
}

async function openWay(record) {
  const found = await ask("transaction", { id: record.transaction, near: record.lsn.join(":") });
  if (!found) return;
  inside.way = { id: record.transaction, ...found };
  showInside();
  byId("way-heading").focus();
}

async function openPage(page) {
  const found = await ask("page", { page });
  if (!found) return;
  inside.page = found;
  showInside();
  byId("page-heading").focus();
}

/** The blocks of a VLF, by where they begin; a block ends where the next begins. */
function blocksOf(vlf) {
  const blocks = [];
  for (const record of vlf.records) {
    const last = blocks[blocks.length - 1];
    if (last && last.at === record.lsn[1]) {
      last.count += 1;
      last.used += record.bytes;
    } else {
      blocks.push({ at: record.lsn[1], count: 1, used: record.bytes });
    }
  }
  const its = head();
  const end = its && its.end && its.end[0] === vlf.sequence ? its.end[1] : null;
  blocks.forEach((block, at) => {
    const next = at + 1 < blocks.length ? blocks[at + 1].at : end;
    // Where the last one ends is not known: it is as long as what is in it.
    block.bytes = next && next > block.at ? (next - block.at) * 512 : Math.ceil((block.used + 72) / 512) * 512;
  });
  return blocks;
}

const rowsOfBlock = () => inside.vlf.records.filter((record) => inside.block === null || record.lsn[1] === inside.block);
const shortName = (operation) => operation.replace(/^LOP_/, "").replace(/_/g, " ").toLowerCase();

function link(text, label, act) {
  const button = make("button", text, "goto");
  button.type = "button";
  button.setAttribute("aria-label", label);
  button.addEventListener("click", act);
  return button;
}

function cell(...parts) {
  const element = make("td");
  element.append(...parts);
  return element;
}

const transactionLink = (record) => (record.transaction
  ? link(String(record.transaction), `The way of transaction ${record.transaction}`, () => openWay(record)) : "the engine");

function pageLinks(record) {
  const links = record.pages.slice(0, 4).flatMap((page) => [link(page, `Page ${page}`, () => openPage(page)), " "]);
  if (record.pages.length > 4) links.push(`and ${record.pages.length - 4} more `);
  return links;
}

function showInside() {
  byId("inside").hidden = !inside.vlf;
  if (!inside.vlf) return;
  const { vlf } = inside;
  const blocks = blocksOf(vlf);
  put("inside-heading", `Inside VLF ${vlf.sequence} of ${vlf.database}`);
  put("inside-note", vlf.records.length ? `${digits(vlf.records.length)} records in ${digits(blocks.length)} blocks${vlf.cut_behind ? ", so far" : ""}.`
    : "Nothing of what this VLF held is kept.");
  showBlocks(blocks);
  showRecords();
  showWay();
  showPage();
  draw();
}

function showBlocks(blocks) {
  const option = (value, text) => Object.assign(make("option", text), { value });
  const each = blocks.map((block) => option(String(block.at), `block ${block.at}: ${bytes(block.bytes)}, ${digits(block.count)} records`));
  byId("block").replaceChildren(option("", `all ${digits(blocks.length)} blocks`), ...each);
  byId("block").value = inside.block === null ? "" : String(inside.block);
  drawBlocks(blocks);
}

/** The blocks as they lie in their VLF; how much of each its records fill, from below. */
function drawBlocks(blocks) {
  const { context, width, height } = prepare(byId("blocks"));
  const colours = palette();
  inside.blocksDrawn = null;
  if (blocks.length === 0) return;
  const first = blocks[0].at * 512, last = blocks[blocks.length - 1];
  const span = last.at * 512 + last.bytes - first;
  inside.blocksDrawn = { blocks, first, span };
  const scale = (at) => ((at - first) / span) * width;
  for (const block of blocks) {
    const left = scale(block.at * 512), wide = Math.max(0.6, scale(block.at * 512 + block.bytes) - left);
    const gap = wide > 3 ? 1 : 0;
    const filled = Math.min(1, block.used / block.bytes) * height;
    context.fillStyle = colours.kinds[FREE];
    context.fillRect(left, 0, wide - gap, height);
    context.fillStyle = block.at === inside.block ? colours.kinds[HEAD] : colours.kinds[ACTIVE];
    context.fillRect(left, height - filled, wide - gap, filled);
  }
}

function pickBlock(event) {
  const drawn = inside.blocksDrawn;
  if (!drawn) return;
  const box = byId("blocks").getBoundingClientRect();
  const at = drawn.first + ((event.clientX - box.left) / box.width) * drawn.span;
  const found = drawn.blocks.filter((block) => block.at * 512 <= at).pop();
  setBlock(found ? found.at : null);
}

function setBlock(block) {
  inside.block = block;
  inside.shown = RECORD_ROWS;
  showInside();
}

function showRecords() {
  const rows = rowsOfBlock();
  byId("records").replaceChildren(...rows.slice(0, inside.shown).map((record) => {
    const row = make("tr", undefined, inside.way && record.transaction === inside.way.id ? "picked" : "");
    const place = make("th", lsnText(record.lsn));
    place.scope = "row";
    row.append(place, make("td", record.operation), make("td", record.context), cell(transactionLink(record)), make("td", digits(record.bytes)),
      cell(...pageLinks(record)), make("td", record.slot === null ? "" : String(record.slot)),
      make("td", [record.unit, record.name, record.time].filter(Boolean).join(" ")));
    row.title = record.steps;
    return row;
  }));
  byId("records-more").hidden = inside.shown >= rows.length && !inside.vlf.cut_behind;
}

function wayText(record, before) {
  if (record.compensation) {
    return record.undo_next ? `takes one back; ${lsnText(record.undo_next)} is taken back next` : "takes the first one back; nothing is left";
  }
  if (record.operation === "LOP_BEGIN_XACT") return record.name;
  if (record.end) return record.operation === "LOP_COMMIT_XACT" ? "the transaction is durable with this record" : "it is rolled back";
  return before && record.previous && !sameLsn(record.previous, before.lsn) ? `behind ${lsnText(record.previous)}` : "";
}

function wayItem(record, before) {
  const item = make("li", undefined, record.compensation ? "undo" : record.end ? "end" : "");
  const entered = before && before.lsn[0] !== record.lsn[0] ? `VLF ${record.lsn[0]} was entered` : "";
  item.append(make("b", lsnText(record.lsn)), " ", make("span", shortName(record.operation), "of"), ` ${digits(record.bytes)} bytes `);
  item.append(...pageLinks(record), make("span", [entered, wayText(record, before)].filter(Boolean).join("; "), "why"));
  return item;
}

/** A transaction as a chain of its records. */
function showWay() {
  const { way } = inside;
  byId("way").hidden = !way;
  if (!way) return;
  const { records } = way;
  const total = records.reduce((sum, record) => sum + record.bytes, 0);
  const vlfs = new Set(records.map((record) => record.lsn[0])).size;
  const isOpen = records.length > 0 && !records[records.length - 1].end && !way.cut_behind;
  put("way-heading", `The way of transaction ${way.id}`);
  put("way-note", `${digits(records.length)} records, ${bytes(total)}, in ${digits(vlfs)} ${vlfs === 1 ? "VLF" : "VLFs"}`
    + `${way.cut_before ? "; earlier ones are not kept, or too many" : ""}${way.cut_behind ? "; later ones are too many" : ""}.${isOpen ? " It is open." : ""}`);
  const items = records.map((record, index) => wayItem(record, records[index - 1]));
  const isLong = items.length > 2 * LISTED + 1;
  const shown = isLong ? [...items.slice(0, LISTED), make("li", `${digits(items.length - 2 * LISTED)} more`, "why"), ...items.slice(-LISTED)] : items;
  byId("way-chain").replaceChildren(...shown);
}

/** Where the records of the way are in the ring. */
function wayPlaces() {
  if (!inside.way || !log() || inside.vlf.database !== state.database) return [];
  return inside.way.records.flatMap((record) => {
    const place = log().placeOf(record.lsn);
    return place ? [{ isUndo: record.compensation, ...place }] : [];
  });
}

/** The way on the ring: a dot for each record, and a line from each to the one behind it. */
function drawWay(context, shape, edges, places, colours) {
  const radius = shape.inner - 14;
  const points = places.map((place) => {
    const angle = angleOf(edges[place.index] + (edges[place.index + 1] - edges[place.index]) * place.part);
    return [shape.x + Math.cos(angle) * radius, shape.y + Math.sin(angle) * radius];
  });
  context.strokeStyle = colours.accent;
  context.lineWidth = 1.4;
  context.beginPath();
  points.forEach(([x, y], at) => {
    if (at === 0) {
      context.moveTo(x, y);
      return;
    }
    const [fromX, fromY] = points[at - 1];
    // Bent inwards, the more the further it goes.
    const pull = 1 - Math.min(0.55, Math.hypot(x - fromX, y - fromY) / shape.outer / 2);
    const [middleX, middleY] = [(x + fromX) / 2, (y + fromY) / 2];
    context.quadraticCurveTo(shape.x + (middleX - shape.x) * pull, shape.y + (middleY - shape.y) * pull, x, y);
  });
  context.stroke();
  points.forEach(([x, y], at) => {
    context.beginPath();
    context.arc(x, y, at === 0 || at === points.length - 1 ? 5 : 2.5, 0, TURN);
    context.fillStyle = places[at].isUndo ? colours.head : colours.accent;
    context.fill();
  });
}

function showPage() {
  const { page } = inside;
  byId("page").hidden = !page;
  if (!page) return;
  put("page-heading", `Page ${page.page}`);
  const what = [page.unit, page.kind, page.level ? `level ${page.level}` : ""].filter(Boolean).join(", ");
  put("page-note", `${what}. Changed last at ${lsnText(page.lsn)}. ${digits(page.rows.length)} rows${page.ghosts ? `, ${digits(page.ghosts)} of them deleted` : ""}, `
    + `${digits(page.free_bytes)} bytes free.`);
  const neighbours = [["the page before", page.previous], ["the page behind", page.next]].filter(([, id]) => id);
  byId("page-neighbours").replaceChildren(...neighbours.flatMap(([words, id]) => [words + " ", link(id, `Page ${id}`, () => openPage(id)), " "]));
  drawPage(page);
  byId("page-rows").replaceChildren(...page.rows.map(([slot, offset, length, kind]) => {
    const row = make("tr");
    row.append(...[slot, offset, length].map((number) => make("td", digits(number))), make("td", kind));
    return row;
  }));
  showChanges(page);
}

function showChanges({ page, lsn, changes }) {
  const { records } = changes;
  put("page-changes-note", records.length ? `What changed it, ${changes.cut_before ? "the last ones" : "from its making on"}:` : "No record that is kept changed it.");
  byId("page-changes").replaceChildren(...records.slice(-RECORD_ROWS).map((record) => {
    const item = make("li", undefined, sameLsn(record.lsn, lsn) ? "end" : "");
    // A record has the slot of the first page that it changes.
    const isFirst = record.slot !== null && record.pages[0] === page;
    item.append(make("b", lsnText(record.lsn)), " ", make("span", shortName(record.operation), "of"), isFirst ? ` slot ${record.slot} ` : " ",
      transactionLink(record), record.compensation ? " takes one back" : "");
    return item;
  }));
}

/** The bytes of a page in lines: header, rows as they lie, free space, the slots at the end. */
function drawPage(page) {
  const { context, width, height } = prepare(byId("page-map"));
  const colours = palette();
  const perLine = PAGE_BYTES / PAGE_LINES, tall = height / PAGE_LINES;
  const paint = (from, to, colour) => {
    context.fillStyle = colour;
    for (let at = from, until; at < to; at = until) {
      const line = Math.floor(at / perLine);
      until = Math.min(to, (line + 1) * perLine);
      const left = ((at - line * perLine) / perLine) * width;
      context.fillRect(left, line * tall + 1, Math.max(1, ((until - at) / perLine) * width - (until === to ? 1 : 0)), tall - 2);
    }
  };
  paint(0, PAGE_BYTES, colours.kinds[UNUSED]);
  paint(0, PAGE_HEADER_BYTES, colours.soft);
  const kindOf = { row: ACTIVE, ghost: FREE };
  for (const [, offset, length, kind] of page.rows) paint(offset, offset + length, colours.kinds[kindOf[kind] ?? PENDING]);
  if (page.rows.length) paint(PAGE_BYTES - 2 * page.rows.length, PAGE_BYTES, colours.soft);
}

function wireInside() {
  const on = (id, act, kind = "click") => byId(id).addEventListener(kind, act);
  on("inside-open", lookInside);
  on("inside-close", closeInside);
  on("records-more", moreRecords);
  on("blocks", pickBlock);
  on("block", (event) => setBlock(event.target.value === "" ? null : Number(event.target.value)), "change");
  on("way-close", () => { inside.way = null; showInside(); });
  on("page-close", () => { inside.page = null; showInside(); });
  new ResizeObserver(() => { if (inside.vlf) drawBlocks(blocksOf(inside.vlf)); }).observe(byId("blocks"));
  new ResizeObserver(() => { if (inside.page) drawPage(inside.page); }).observe(byId("page-map"));
}
