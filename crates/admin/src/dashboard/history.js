// The figures of each second: what came from the server, put together, and
// the points that a chart of some width has. Pure: no page, no clock.

/** As far back as the server remembers. */
export const LONGEST_S = 3_600;

const COUNTED = [
  "requests", "hits", "misses", "passes", "errors", "origin_requests",
  "bytes_out", "bytes_memory", "bytes_disk", "bytes_origin",
];

export class History {
  constructor() {
    this.clear();
  }

  clear() {
    /** When the newest row ended, seconds since 1970; 0: there is none. */
    this.until = 0;
    this.columns = {};
    this.length = 0;
  }

  /** Takes the rows of an answer; they replace those of the same seconds. */
  add({ until, samples, columns }) {
    const later = until - this.until;
    if (later < 0 || later > samples) this.clear();
    const same = this.until === 0 ? 0 : samples - later;
    const kept = Math.max(0, this.length - same);
    const begin = Math.max(0, kept + samples - LONGEST_S);
    for (const [name, values] of Object.entries(columns)) {
      const own = this.columns[name] ?? [];
      this.columns[name] = own.slice(0, kept).concat(values).slice(begin);
    }
    this.length = kept + samples - begin;
    this.until = until;
  }

  /** The last `seconds` in at most about `most` points, the oldest first. */
  points(seconds, most = 300) {
    const step = Math.ceil(seconds / most);
    const first = Math.max(0, this.length - seconds);
    const at = (row) => this.until - (this.length - 1 - row);
    const points = [];
    for (let row = first; row < this.length;) {
      // Borders lie on multiples of the step, so that old points stay as they are.
      const border = Math.floor(at(row) / step) + 1;
      let end = row + 1;
      while (end < this.length && at(end) < border * step) end += 1;
      points.push({ at: at(end - 1), ...this.sum(row, end) });
      row = end;
    }
    return { from: this.until - seconds + 1, to: this.until, step, points };
  }

  /** The rows from `begin` to before `end` as one point. */
  sum(begin, end) {
    const rows = (name) => (this.columns[name] ?? []).slice(begin, end);
    const total = (name) => rows(name).reduce((sum, value) => sum + value, 0);
    const point = {};
    for (const name of COUNTED) point[name] = total(name) / (end - begin);
    const looked = point.hits + point.misses + point.passes;
    point.ratio = looked > 0 ? point.hits / looked : null;
    // A median of medians, each for as many exchanges as it stands for; of
    // the 99th percentile the worst second, which is what one looks for.
    for (const [kind, weight] of [["hit", "hits"], ["miss", "misses"]]) {
      point[`${kind}_p50`] = middle(rows(`${kind}_p50_us`), rows(weight));
      point[`${kind}_p99`] = Math.max(0, ...rows(`${kind}_p99_us`)) || null;
    }
    return point;
  }

  /** The newest value of a column. */
  last(name) {
    return this.columns[name]?.at(-1) ?? 0;
  }
}

function middle(values, weights) {
  let sum = 0;
  let all = 0;
  values.forEach((value, place) => {
    if (value === 0) return;
    const weight = Math.max(1, weights[place] ?? 0);
    sum += value * weight;
    all += weight;
  });
  return all > 0 ? sum / all : null;
}
