// What an operator looks at first: the figures of now, and the last hour in
// four charts.

import { Chart } from "./chart.js";
import { byId, make, say } from "./dom.js";
import { count, orNothing, rate, share, size, speed, time } from "./format.js";
import { decades, linear, whole } from "./scale.js";

/** Over how many seconds "now" is, so that figures can be read. */
const NOW_S = 5;
const MINUTE_S = 60;

const most = (points, lines) => Math.max(0, ...points.flatMap((point) => lines.map(({ key }) => point[key] ?? 0)));

const CHARTS = [
  {
    title: "Requests per second",
    lines: [
      { key: "hits", name: "from the cache" }, { key: "misses", name: "fetched" },
      { key: "passes", name: "passed" }, { key: "errors", name: "5xx" },
    ],
    scale: (points, lines) => linear(most(points, lines)),
    format: rate, mark: count,
  },
  {
    title: "Hit ratio",
    lines: [{ key: "ratio", name: "served from the cache" }],
    scale: whole, format: share, mark: (ratio) => `${ratio * 100} %`,
  },
  {
    title: "Body bytes served per second",
    lines: [
      { key: "bytes_memory", name: "from memory" }, { key: "bytes_disk", name: "from disk" },
      { key: "bytes_origin", name: "from origins" },
    ],
    scale: (points, lines) => linear(most(points, lines), 1024),
    format: speed, mark: size,
  },
  {
    title: "Duration of requests",
    lines: [
      { key: "hit_p50", name: "hits, median" }, { key: "hit_p99", name: "hits, 99 %" },
      { key: "miss_p50", name: "misses, median" }, { key: "miss_p99", name: "misses, 99 %" },
    ],
    scale: (points, lines) => {
      const values = points.flatMap((point) => lines.map(({ key }) => point[key])).filter((value) => value > 0);
      return values.length ? decades(Math.min(...values), Math.max(...values)) : decades(10, 10_000);
    },
    format: time, mark: (micros) => time(micros).replace(".0 ", " ").replace(".00 ", " "),
  },
];

const failures = (counters) => counters.origin_errors + counters.origin_timeouts + counters.origin_invalid;

/** Of each tile: its name, its figure, and a smaller line below. */
const TILES = [
  ["Requests", ({ now }) => rate(now.requests), ({ figures }) => `${count(figures.counters.requests)} in all`],
  ["Hit ratio", ({ minute }) => share(minute.ratio), ({ figures }) => `${share(figures.hit_ratio)} since the start`],
  ["To clients", ({ now }) => speed(now.bytes_out), ({ figures }) => `${size(figures.counters.bytes_out)} in all`],
  ["Hits, 99 % within", ({ minute }) => orNothing(minute.hit_p99, time), ({ minute }) => `median ${orNothing(minute.hit_p50, time)}`],
  ["Misses, 99 % within", ({ minute }) => orNothing(minute.miss_p99, time), ({ minute }) => `median ${orNothing(minute.miss_p50, time)}`],
  ["Connections", ({ status }) => count(status.connections), ({ figures }) => `${count(figures.counters.connections_accepted ?? 0)} accepted`],
  ["To origins", ({ now }) => rate(now.origin_requests), ({ figures }) => `${count(failures(figures.counters))} failed in all`],
  ["Responses 5xx", ({ minute }) => rate(minute.errors), ({ figures }) => `${count(figures.counters.status_5xx ?? 0)} in all`],
];

export class Overview {
  constructor() {
    this.tiles = TILES.map(([name]) => {
      const tile = { figure: make("dd", {}, "–"), note: make("dd", { class: "note" }, " ") };
      byId("tiles").append(make("div", {}, make("dt", {}, name), tile.figure, tile.note));
      return tile;
    });
    this.charts = CHARTS.map((chart) => new Chart(chart));
    byId("charts").append(...this.charts.map((chart) => chart.element));
    this.history = null;
    byId("range").addEventListener("change", () => this.draw());
  }

  /** Shows what was asked for last. */
  update({ status, figures, history }) {
    const mean = (seconds) => history.sum(Math.max(0, history.length - seconds), history.length);
    if (history.length > 0) {
      const seen = { status, figures, now: mean(NOW_S), minute: mean(MINUTE_S) };
      TILES.forEach(([, figure, note], number) => {
        say(this.tiles[number].figure, figure(seen));
        say(this.tiles[number].note, note(seen));
      });
    }
    this.history = history;
    this.draw();
  }

  draw() {
    if (!this.history) return;
    const seconds = Number(document.querySelector("input[name=range]:checked").value);
    const data = this.history.points(seconds);
    for (const chart of this.charts) chart.show(data);
  }
}
