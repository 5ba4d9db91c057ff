// A recovery as it went: what each phase read of the log, swept over the ring in its direction, with what it said.

/** Milliseconds of one phase. */
const SWEEP_MS = 1800;

const sweep = { events: [], at: 0, startedAt: 0 };

/** The parts of a log that its last recovery read, in the order in which it did; the VLFs it found come before them. */
function lastRecovery() {
  const found = [];
  const its = world().events.filter((event) => event.kind === "recovery" && event.database === state.database);
  for (let at = its.length - 1; at >= 0; at -= 1) {
    if (its[at].span) found.unshift(its[at]);
    else if (found.length) break;
  }
  return found;
}

function playRecovery() {
  sweep.events = lastRecovery();
  sweep.at = 0;
  sweep.startedAt = performance.now();
  if (sweep.events.length) showPhase();
  draw();
}

function showPhase() {
  const event = sweep.events[sweep.at];
  const [from, to] = event.span;
  put("now", `${event.text} ${event.why} (${lsnText(from)} to ${lsnText(to)})`);
}

/** Goes on to the next phase when one is over; what of it is to be drawn now. */
function sweepNow() {
  if (!sweep.events.length) return null;
  const passed = performance.now() - sweep.startedAt;
  if (passed > SWEEP_MS) {
    sweep.at += 1;
    sweep.startedAt = performance.now();
    if (sweep.at >= sweep.events.length) {
      sweep.events = [];
      return null;
    }
    showPhase();
  }
  setTimeout(draw, isStill.matches ? 200 : 16);
  const event = sweep.events[sweep.at];
  if (event.database !== state.database) return null;
  const part = isStill.matches ? 1 : Math.min(1, (performance.now() - sweep.startedAt) / (SWEEP_MS * 0.85));
  return { pieces: piecesOf(event.span, part), isBack: isBefore(event.span[1], event.span[0]) };
}

const isBefore = (one, other) => one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);

/** The arcs of a part of the log, VLF by VLF, as far as `part` of it in its direction: pieces of parts of the ring. */
function piecesOf([from, to], part) {
  const isBack = isBefore(to, from);
  const [low, high] = isBack ? [to, from] : [from, to];
  const pieces = [];
  let total = 0;
  for (let sequence = low[0]; sequence <= high[0]; sequence += 1) {
    const index = log().indexOf(sequence);
    if (index < 0) continue;
    const begin = sequence === low[0] ? Math.min(1, (low[1] * 512) / log().size[index]) : 0;
    const end = sequence === high[0] ? Math.max(begin, Math.min(1, (high[1] * 512) / log().size[index])) : 1;
    const bytesOf = (end - begin) * log().size[index];
    pieces.push({ index, begin, end, bytes: bytesOf });
    total += bytesOf;
  }
  if (isBack) pieces.reverse();
  let left = total * part;
  const shown = [];
  for (const piece of pieces) {
    const share = piece.bytes > 0 ? Math.min(1, left / piece.bytes) : 1;
    const length = (piece.end - piece.begin) * share;
    shown.push(isBack ? { ...piece, begin: piece.end - length } : { ...piece, end: piece.begin + length });
    left -= piece.bytes;
    if (left <= 0) break;
  }
  return shown;
}

function drawSweep(context, shape, edges, { pieces, isBack }, colours) {
  const radius = shape.outer + 8;
  const at = (piece, part) => angleOf(edges[piece.index] + (edges[piece.index + 1] - edges[piece.index]) * part);
  context.strokeStyle = isBack ? colours.head : colours.accent;
  context.lineWidth = 7;
  for (const piece of pieces) {
    context.beginPath();
    context.arc(shape.x, shape.y, radius, at(piece, piece.begin), Math.max(at(piece, piece.end), at(piece, piece.begin) + 0.004));
    context.stroke();
  }
  const last = pieces[pieces.length - 1];
  if (!last) return;
  const angle = at(last, isBack ? last.begin : last.end);
  context.beginPath();
  context.arc(shape.x + Math.cos(angle) * radius, shape.y + Math.sin(angle) * radius, 7, 0, TURN);
  context.fillStyle = isBack ? colours.head : colours.accent;
  context.fill();
}
