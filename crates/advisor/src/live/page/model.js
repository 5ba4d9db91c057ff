// What a session consists of: logs as arrays of numbers, and frames that change them. Nothing here draws.

const UNUSED = 0, FREE = 1, ACTIVE = 2, HEAD = 3, PENDING = 4;
const KIND_WORDS = ["never used", "reusable", "active", "active, the log stands here", "not yet redone on this replica"];
/** Frames kept to go back to, and events in them; older ones become part of the beginning. */
const FRAMES_MAX = 4000, FRAME_EVENTS_MAX = 20_000;
/** Events kept for the list. */
const EVENTS_MAX = 5000;

/** The numbers of runs: [first, count, step] each. */
function expand(runs, length, ArrayType) {
  const numbers = new ArrayType(length);
  let at = 0;
  for (const [first, count, step] of runs || []) {
    const end = Math.min(length, at + count);
    for (let number = first; at < end; at += 1, number += step) numbers[at] = number;
  }
  return numbers;
}

/** Runs of numbers, as `expand` reads them. */
function runsOf(numbers) {
  const runs = [];
  let last = null;
  for (const number of numbers) {
    if (last && last[1] === 1 && (number === last[0] || number === last[0] + 1)) {
      last[2] = number - last[0];
      last[1] = 2;
    } else if (last && last[1] > 1 && number === last[0] + last[1] * last[2]) {
      last[1] += 1;
    } else {
      last = [number, 1, 0];
      runs.push(last);
    }
  }
  return runs;
}

/** The VLFs of one database, file by file. */
class Log {
  constructor(map) {
    this.database = map.database;
    this.files = [];
    this.count = 0;
    for (const file of map.files) {
      const count = (file.sizes || []).reduce((sum, run) => sum + run[1], 0);
      this.files.push({ id: file.id, name: file.name, start: file.start, from: this.count, count, hasParity: (file.parities || []).length > 0 });
      this.count += count;
    }
    this.offset = new Float64Array(this.count);
    this.size = new Float64Array(this.count);
    this.sequence = new Float64Array(this.count);
    this.parity = new Uint8Array(this.count);
    this.state = new Uint8Array(this.count);
    this.bytes = 0;
    map.files.forEach((file, index) => {
      const { from, count } = this.files[index];
      this.size.set(expand(file.sizes, count, Float64Array), from);
      this.sequence.set(expand(file.sequences, count, Float64Array), from);
      this.parity.set(expand(file.parities, count, Uint8Array), from);
      this.state.set(expand(file.states, count, Uint8Array), from);
      let offset = file.start;
      for (let at = from; at < from + count; at += 1) {
        this.offset[at] = offset;
        offset += this.size[at];
      }
      this.bytes += offset - file.start;
    });
  }

  copy() {
    const copy = Object.create(Log.prototype);
    Object.assign(copy, this);
    for (const name of ["sequence", "parity", "state"]) copy[name] = this[name].slice();
    return copy;
  }

  /** As it stands in a recording. */
  toMap() {
    const files = this.files.map((file) => {
      const of = (numbers) => runsOf(numbers.subarray(file.from, file.from + file.count));
      const map = { id: file.id, name: file.name, start: file.start, sizes: of(this.size), sequences: of(this.sequence), states: of(this.state) };
      if (file.hasParity) map.parities = of(this.parity);
      return map;
    });
    return { database: this.database, files };
  }

  fileOf(index) {
    return this.files.find((file) => index < file.from + file.count);
  }

  /** The VLF that begins at an offset of a file; -1 where none does. */
  indexAt(id, offset) {
    const file = this.files.find((one) => one.id === id);
    if (!file) return -1;
    let low = file.from, high = file.from + file.count - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      if (this.offset[middle] === offset) return middle;
      if (this.offset[middle] < offset) low = middle + 1; else high = middle - 1;
    }
    return -1;
  }

  enter(vlfs) {
    for (const [id, offset, sequence, parity] of vlfs) {
      const index = this.indexAt(id, offset);
      if (index < 0) continue;
      this.sequence[index] = sequence;
      this.parity[index] = parity;
    }
  }

  indexOf(sequence) {
    return sequence > 0 ? this.sequence.indexOf(sequence) : -1;
  }

  /** What each VLF is, by the head's word or, without it, by its own state. */
  kinds(head) {
    const kinds = new Uint8Array(this.count);
    const active = head && head.active;
    const last = active ? active[1] : head && head.end ? head.end[0] : 0;
    for (let at = 0; at < this.count; at += 1) {
      const sequence = this.sequence[at];
      const isActive = active ? sequence >= active[0] && sequence <= active[1] : this.state[at] === 2;
      if (!active && this.state[at] === 4) kinds[at] = PENDING;
      else if (isActive && sequence > 0) kinds[at] = sequence === last ? HEAD : ACTIVE;
      else kinds[at] = sequence === 0 || (!active && this.state[at] === 1) ? UNUSED : FREE;
    }
    return kinds;
  }

  /** Where an LSN lies: the VLF, and how far into it, 0 to 1. */
  placeOf(lsn) {
    if (!lsn) return null;
    const index = this.indexOf(lsn[0]);
    return index < 0 ? null : { index, part: Math.min(1, (lsn[1] * 512) / this.size[index]) };
  }
}

/** Everything at one moment. */
class World {
  constructor(stand) {
    this.frame = stand.frame;
    this.at = stand.at;
    this.greeting = stand.greeting;
    this.logs = new Map(stand.maps.map((map) => [map.database, new Log(map)]));
    this.heads = new Map(stand.heads.map((head) => [head.database, head]));
    this.events = stand.events.slice();
    this.progress = stand.progress || [];
    this.grown = null;
  }

  copy() {
    const copy = Object.create(World.prototype);
    Object.assign(copy, this);
    copy.logs = new Map([...this.logs].map(([name, log]) => [name, log.copy()]));
    copy.heads = new Map(this.heads);
    copy.events = this.events.slice();
    return copy;
  }

  toStand() {
    return {
      frame: this.frame, at: this.at, greeting: this.greeting, maps: [...this.logs.values()].map((log) => log.toMap()),
      heads: [...this.heads.values()], events: this.events.slice(-500), progress: this.progress,
    };
  }

  take(frame) {
    this.frame = frame.frame;
    this.at = frame.at;
    for (const name of frame.gone || []) {
      this.logs.delete(name);
      this.heads.delete(name);
    }
    for (const map of frame.maps || []) {
      const former = this.logs.get(map.database);
      const log = new Log(map);
      if (former && log.count > former.count) this.grown = { database: map.database, log, former, frame: frame.frame };
      this.logs.set(map.database, log);
    }
    for (const entered of frame.entered || []) {
      const log = this.logs.get(entered.database);
      if (log) log.enter(entered.vlfs);
    }
    for (const head of frame.heads || []) this.heads.set(head.database, head);
    if (frame.skipped) {
      this.events.push({ number: 0, at: frame.at, database: "", kind: "step", weight: "notable", text: frame.skipped + " events were skipped.", why: "More happened than is kept." });
    }
    if (frame.events) this.events.push(...frame.events);
    if (this.events.length > EVENTS_MAX) this.events.splice(0, this.events.length - EVENTS_MAX);
    if (frame.progress) this.progress = frame.progress;
  }
}

function eventsIn(frame) {
  return frame.events ? frame.events.length : 0;
}

/** A beginning, the frames behind it, and a place among them. */
class Session {
  constructor(stand) {
    this.base = new World(stand);
    this.frames = [];
    this.position = 0;
    this.world = this.base.copy();
    this.first = 0;
    this.eventCount = 0;
  }

  /** Appends a frame; the place does not change. */
  add(frame) {
    this.frames.push(frame);
    this.eventCount += eventsIn(frame);
    if (this.frames.length <= FRAMES_MAX && this.eventCount <= FRAME_EVENTS_MAX) return;
    const gone = this.frames.splice(0, Math.ceil(this.frames.length / 8));
    for (const old of gone) {
      this.base.take(old);
      this.eventCount -= eventsIn(old);
    }
    this.first += gone.length;
    if (this.position < gone.length) {
      this.world = this.base.copy();
      this.position = 0;
    } else {
      this.position -= gone.length;
    }
  }

  get end() {
    return this.frames.length;
  }

  /** Goes to the state behind so many frames; answers the events on the way there, if it lies ahead. */
  seek(position) {
    const target = Math.max(0, Math.min(this.end, position));
    if (target < this.position) {
      this.world = this.base.copy();
      this.position = 0;
    }
    const passed = [];
    while (this.position < target) {
      const frame = this.frames[this.position];
      this.world.take(frame);
      if (frame.events) passed.push(...frame.events);
      this.position += 1;
    }
    return passed;
  }

  toRecording(question) {
    const recording = { version: 1, first: this.base.toStand(), frames: this.frames };
    if (question) recording.question = question;
    return recording;
  }
}
