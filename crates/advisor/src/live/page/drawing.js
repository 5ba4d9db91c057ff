// The ring and the close-up, on canvases. Where VLFs are smaller than a pixel the ring shows how much of each pixel is what.

const TURN = 2 * Math.PI;
const KIND_COLOURS = ["--unused", "--free", "--active", "--head", "--pending"];
/** A VLF that is drawn by itself takes so many pixels at least. */
const ARC_PIXELS_MIN = 1.5;

function palette() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  return {
    kinds: KIND_COLOURS.map(colour), ink: colour("--ink"), soft: colour("--soft"), line: colour("--unused-line"),
    card: colour("--card"), flash: colour("--flash"), accent: colour("--accent"), head: colour("--head"),
  };
}

/** Makes a canvas as sharp as the screen; answers its context and its size in CSS pixels. */
function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height, ratio };
}

/** Where each VLF begins, as a part of the whole from 0 to 1; one more than there are VLFs. */
function edgesOf(log, isEqual) {
  const edges = new Float64Array(log.count + 1);
  const total = isEqual ? log.count : log.bytes;
  let sum = 0;
  for (let at = 0; at < log.count; at += 1) {
    edges[at] = sum / total;
    sum += isEqual ? 1 : log.size[at];
  }
  edges[log.count] = 1;
  return edges;
}

/** The last index whose edge is not behind a part of the whole. */
function indexAtPart(edges, part) {
  let low = 0, high = edges.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (edges[middle] <= part) low = middle; else high = middle - 1;
  }
  return low;
}

function sector(context, x, y, inner, outer, from, to) {
  context.moveTo(x + Math.cos(from) * outer, y + Math.sin(from) * outer);
  context.arc(x, y, outer, from, to);
  context.arc(x, y, inner, to, from, true);
  context.closePath();
}

const angleOf = (part) => part * TURN - TURN / 4;

/** Geometry of the ring on a square of this width. */
function ringShape(width) {
  const outer = width / 2 - Math.max(30, width * 0.075);
  return { x: width / 2, y: width / 2, outer, inner: outer * 0.74 };
}

function drawArcs(context, shape, edges, kinds, colours, pixels) {
  const { x, y, inner, outer } = shape;
  const gap = Math.min(1.2, pixels / kinds.length / 5) / outer;
  for (let kind = 0; kind < colours.kinds.length; kind += 1) {
    context.beginPath();
    for (let at = 0; at < kinds.length; at += 1) {
      if (kinds[at] !== kind) continue;
      const from = angleOf(edges[at]), to = angleOf(edges[at + 1]);
      sector(context, x, y, inner, outer, from + gap / 2, Math.max(from + gap / 2, to - gap / 2));
    }
    context.fillStyle = colours.kinds[kind];
    context.fill();
    if (kind === UNUSED) {
      context.strokeStyle = colours.line;
      context.lineWidth = 0.8;
      context.stroke();
    }
  }
}

/** Density: each pixel of the circumference shows its shares of the kinds, from within outwards. */
function drawDensity(context, shape, edges, kinds, colours, pixels) {
  const buckets = Math.floor(pixels);
  const shares = new Float32Array(buckets * 5);
  for (let at = 0; at < kinds.length; at += 1) {
    let from = edges[at] * buckets;
    const to = edges[at + 1] * buckets;
    while (from < to) {
      const bucket = Math.min(buckets - 1, Math.floor(from));
      const until = Math.min(to, bucket + 1);
      shares[bucket * 5 + kinds[at]] += until - from;
      if (until <= from) break;
      from = until;
    }
  }
  const { x, y, inner, outer } = shape;
  const order = [HEAD, ACTIVE, PENDING, FREE, UNUSED];
  const reached = new Float32Array(buckets).fill(0);
  for (const kind of order) {
    context.beginPath();
    // Neighbours that look the same are one piece.
    let piece = null;
    const close = (end) => {
      if (piece) sector(context, x, y, piece.low, piece.high, angleOf(piece.from / buckets), angleOf((end + 0.3) / buckets));
      piece = null;
    };
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      // The one place where the log stands is seen however small it is.
      const share = kind === HEAD && shares[bucket * 5 + kind] > 0 ? 1 : shares[bucket * 5 + kind];
      const low = inner + (outer - inner) * Math.min(1, reached[bucket]);
      reached[bucket] += share;
      const high = inner + (outer - inner) * Math.min(1, reached[bucket]);
      if (piece && Math.abs(piece.low - low) + Math.abs(piece.high - high) > 0.1) close(bucket);
      if (!piece && high - low > 0.05) piece = { from: bucket, low, high };
      else if (piece && high - low <= 0.05) close(bucket);
    }
    close(buckets);
    context.fillStyle = colours.kinds[kind];
    context.fill();
  }
}

/** Letters outside the ring; those that would meet stand one outside the other. */
function drawMarks(context, shape, edges, marks, colours, width) {
  const size = Math.max(11, Math.min(20, width / 42));
  const placed = [];
  context.font = `700 ${size * 0.85}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const mark of marks) {
    const part = edges[mark.index] + (edges[mark.index + 1] - edges[mark.index]) * mark.part;
    const angle = angleOf(part);
    const near = placed.filter((other) => Math.abs(Math.atan2(Math.sin(other - angle), Math.cos(other - angle))) * shape.outer < size * 1.5).length;
    placed.push(angle);
    const isInside = near > 0;
    const at = isInside ? shape.inner - size * (0.9 + 1.25 * (near - 1)) : shape.outer + size * 0.95;
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    context.strokeStyle = mark.colour || colours.ink;
    context.lineWidth = 1.6;
    context.beginPath();
    context.moveTo(shape.x + cos * shape.inner, shape.y + sin * shape.inner);
    context.lineTo(shape.x + cos * (shape.outer + 3), shape.y + sin * (shape.outer + 3));
    context.stroke();
    drawPill(context, mark, shape.x + cos * at, shape.y + sin * at, size, colours);
  }
}

/** A mark's letters on a disc, or on a pill where there are several. */
function drawPill(context, mark, x, y, size, colours) {
  const radius = size * 0.66;
  const half = Math.max(0, context.measureText(mark.letter).width / 2 + size * 0.3 - radius);
  context.beginPath();
  context.arc(x - half, y, radius, TURN / 4, -TURN / 4);
  context.arc(x + half, y, radius, -TURN / 4, TURN / 4);
  context.closePath();
  context.fillStyle = mark.colour || colours.ink;
  context.fill();
  context.fillStyle = colours.card;
  context.fillText(mark.letter, x, y + size * 0.04);
}

/** The ring; `view` has log, kinds, edges, marks, window, picked and flash. */
function drawRing(canvas, view) {
  const { context, width, ratio } = prepare(canvas);
  const colours = palette();
  const shape = ringShape(width);
  // It is not laid out, or too small for a ring.
  if (shape.inner <= 14) return;
  const pixels = TURN * shape.outer * Math.min(ratio, 2);
  context.beginPath();
  sector(context, shape.x, shape.y, shape.inner, shape.outer, 0, TURN);
  context.fillStyle = colours.kinds[UNUSED];
  context.fill("evenodd");
  if (!view.log || view.log.count === 0) return;
  const { edges, kinds } = view;
  const isSingle = TURN * shape.outer / kinds.length >= ARC_PIXELS_MIN;
  if (isSingle) drawArcs(context, shape, edges, kinds, colours, TURN * shape.outer);
  else drawDensity(context, shape, edges, kinds, colours, pixels);
  const arc = (from, to, radius, wide, colour) => {
    context.beginPath();
    context.arc(shape.x, shape.y, radius, angleOf(edges[from]), angleOf(edges[to]));
    context.strokeStyle = colour;
    context.lineWidth = wide;
    context.stroke();
  };
  if (view.flash) view.flash.forEach(([from, to]) => arc(from, to, shape.outer + 3, 6, colours.flash));
  if (view.window.to - view.window.from < kinds.length) arc(view.window.from, view.window.to, shape.inner - 4, 3, colours.soft);
  if (view.picked >= 0) {
    context.beginPath();
    const [from, to] = [angleOf(edges[view.picked]), angleOf(edges[view.picked + 1])];
    sector(context, shape.x, shape.y, shape.inner - 3, shape.outer + 3, from, Math.max(to, from + 2 / shape.outer));
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.stroke();
  }
  if (view.sweep) drawSweep(context, shape, edges, view.sweep, colours);
  if (view.way.length) drawWay(context, shape, edges, view.way, colours);
  drawMarks(context, shape, edges, view.marks, colours, width);
}

/** The VLF under a point of the ring; -1 where there is none. */
function ringIndexAt(canvas, view, event) {
  const box = canvas.getBoundingClientRect();
  const shape = ringShape(box.width);
  const [dx, dy] = [event.clientX - box.left - shape.x, event.clientY - box.top - shape.y];
  const radius = Math.hypot(dx, dy);
  if (!view.log || view.log.count === 0 || radius < shape.inner - 12 || radius > shape.outer + 20) return -1;
  const part = (((Math.atan2(dy, dx) + TURN / 4) % TURN) + TURN) % TURN / TURN;
  return indexAtPart(view.edges, part);
}

/** What the close-up covers: where VLF `index` of the window begins, in pixels. */
function stripScale(view, width) {
  const { from, to } = view.window;
  const span = view.edges[to] - view.edges[from] || 1;
  return (index) => ((view.edges[index] - view.edges[from]) / span) * width;
}

function drawStrip(canvas, view) {
  const { context, width, height } = prepare(canvas);
  const colours = palette();
  if (!view.log || view.log.count === 0) return;
  const scale = stripScale(view, width);
  const { from, to } = view.window;
  const [top, bottom] = [22, height - 20];
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let at = from; at < to; at += 1) {
    const left = scale(at), wide = Math.max(0.5, scale(at + 1) - left);
    const inset = wide > 4 ? 1 : 0;
    const kind = view.kinds[at];
    context.fillStyle = colours.kinds[kind];
    context.fillRect(left + inset / 2, top, wide - inset, bottom - top);
    if (kind === UNUSED && wide > 3) {
      context.strokeStyle = colours.line;
      context.strokeRect(left + 1, top + 0.5, wide - 2, bottom - top - 1);
    }
    drawInside(context, view, at, { left, wide, top, bottom, height }, colours);
  }
  drawStripMarks(context, view, scale, colours, top, bottom);
}

/** What a VLF of the close-up shows of itself: how far it is written, its sequence, its parity. */
function drawInside(context, view, at, box, colours) {
  const { left, wide, top, bottom, height } = box;
  if (view.kinds[at] === HEAD && view.end && view.end.index === at) {
    context.fillStyle = colours.kinds[FREE];
    context.fillRect(left + wide * view.end.part, top, Math.max(0, wide * (1 - view.end.part) - 1), bottom - top);
  }
  const sequence = view.log.sequence[at];
  const parity = view.log.parity[at];
  if (parity && wide > 2) {
    // Both parities are told by shape: one line under the VLF, or two.
    context.fillStyle = colours.soft;
    context.fillRect(left + 1, bottom + 2, wide - 2, 1.5);
    if (parity === 128) context.fillRect(left + 1, bottom + 5, wide - 2, 1.5);
  }
  if (sequence && wide > context.measureText(String(sequence)).width + 4) {
    context.fillStyle = colours.soft;
    context.fillText(String(sequence), left + wide / 2, height - 6);
  }
  if (view.picked === at) {
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.strokeRect(left + 1, top - 1, Math.max(2, wide - 2), bottom - top + 2);
    context.lineWidth = 1;
  }
}

function drawStripMarks(context, view, scale, colours, top, bottom) {
  let before = -Infinity;
  const inside = view.marks.filter((mark) => mark.index >= view.window.from && mark.index < view.window.to);
  const placed = inside.map((mark) => {
    const left = scale(mark.index);
    return { mark, x: left + (scale(mark.index + 1) - left) * mark.part };
  });
  placed.sort((one, other) => one.x - other.x);
  context.font = "700 12px system-ui, sans-serif";
  for (const { mark, x } of placed) {
    context.strokeStyle = mark.colour || colours.ink;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x, top - 3);
    context.lineTo(x, bottom);
    context.stroke();
    const half = context.measureText(mark.letter).width / 2 + 4;
    const shown = Math.max(half, x, before + half + 2);
    drawPill(context, mark, shown, 10, 12, colours);
    before = shown + half;
  }
}
