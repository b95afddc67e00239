// One chart of figures over time, drawn as SVG. Lines differ in colour and in
// dashes; the legend says their values, of now or of where the pointer is.
// With the keyboard the cursor goes by the arrows, and its values are read out.

import { draw, make, say } from "./dom.js";
import { clock, orNothing } from "./format.js";
import { moments } from "./scale.js";

const HEIGHT = 180;
const LEFT = 62;
const RIGHT = 8;
const TOP = 8;
const BOTTOM = 20;

export class Chart {
  /**
   * `lines` are `{ key, name }` of a point; `scale(points, lines)` gives the
   * axis; `format` writes a value, `mark` one beside the axis.
   */
  constructor({ title, lines, scale, format, mark = format, nothing = "no requests in this time" }) {
    Object.assign(this, { title, lines, scale, format, mark, nothing });
    this.data = null;
    this.cursor = null;
    this.width = 0;
    this.at = make("span", { class: "at" }, " ");
    this.values = lines.map(() => make("b", {}, "–"));
    const legend = lines.map((line, number) => make("li", {},
      draw("svg", { viewBox: "0 0 24 8", "aria-hidden": "true" },
        draw("path", { class: `series s${number + 1}`, d: "M1 4H23" })),
      make("span", {}, line.name), this.values[number]));
    this.plot = draw("svg", { class: "plot", role: "img", tabindex: "0" });
    this.spoken = make("p", { class: "for-readers", "aria-live": "polite" });
    this.element = make("figure", { class: "chart" },
      make("div", { class: "top" }, make("h2", {}, title), this.at),
      make("ul", { class: "legend" }, ...legend), this.plot, this.spoken);
    this.listen();
  }

  listen() {
    new ResizeObserver(() => this.render()).observe(this.plot);
    const follow = (event) => this.move(this.nearest(event.clientX - this.plot.getBoundingClientRect().left));
    this.plot.addEventListener("pointermove", follow);
    this.plot.addEventListener("pointerdown", follow);
    this.plot.addEventListener("pointerleave", () => this.move(null));
    this.plot.addEventListener("blur", () => this.move(null));
    this.plot.addEventListener("keydown", (event) => this.key(event));
  }

  /** Shows other points: what `History.points` gives. */
  show(data) {
    this.data = data;
    this.render();
  }

  key(event) {
    const points = this.data?.points ?? [];
    if (points.length === 0) return;
    const now = this.cursor === null ? points.length : points.findIndex((point) => point.at >= this.cursor);
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: points.length - 1 }[event.key];
    if (event.key === "Escape") this.move(null);
    if (to === undefined) return;
    event.preventDefault();
    const point = points[Math.min(points.length - 1, Math.max(0, to))];
    this.move(point.at);
    say(this.spoken, `${clock(point.at)}: ${this.words(point)}`);
  }

  /** Puts the cursor at a moment, or takes it away. */
  move(at) {
    if (this.cursor === at) return;
    this.cursor = at;
    this.render();
  }

  nearest(x) {
    const points = this.data?.points ?? [];
    let best = null;
    for (const point of points) {
      if (best === null || Math.abs(this.x(point.at) - x) < Math.abs(this.x(best) - x)) best = point.at;
    }
    return best;
  }

  x(at) {
    const { from, to } = this.data;
    return LEFT + (this.width - LEFT - RIGHT) * (at - from) / Math.max(1, to - from);
  }

  words(point) {
    const parts = this.lines.map(({ key, name }) => `${name} ${orNothing(point[key], this.format)}`);
    return parts.join(", ");
  }

  render() {
    this.width = this.plot.clientWidth;
    if (!this.data || this.width < LEFT + 60) return;
    const { points } = this.data;
    const under = this.cursor === null ? undefined : points.find((point) => point.at >= this.cursor);
    const shown = under ?? points.at(-1);
    this.lines.forEach(({ key }, number) => say(this.values[number], orNothing(shown?.[key], this.format)));
    say(this.at, under ? clock(under.at) : "now");
    const axis = this.scale(points, this.lines);
    this.plot.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.plot.setAttribute("aria-label", this.summary());
    this.plot.replaceChildren(...this.grid(axis), ...this.paths(axis), ...this.markCursor(under, axis));
  }

  /** What is said instead of the picture. */
  summary() {
    const { from, to, points } = this.data;
    const parts = this.lines.map(({ key, name }) => {
      const values = points.map((point) => point[key]).filter((value) => value !== null);
      if (values.length === 0) return `${name}: nothing`;
      return `${name}: now ${orNothing(points.at(-1)[key], this.format)}, `
        + `at most ${this.format(Math.max(...values))}, at least ${this.format(Math.min(...values))}`;
    });
    return `${this.title}, from ${clock(from, false)} to ${clock(to, false)}. ${parts.join(". ")}. `
      + "Arrow keys move through it.";
  }

  y(axis, value) {
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - axis.place(value));
  }

  grid(axis) {
    const { from, to } = this.data;
    const parts = [];
    for (const mark of axis.marks) {
      const y = Math.round(this.y(axis, mark));
      parts.push(draw("path", { class: "grid", d: `M${LEFT} ${y}H${this.width - RIGHT}` }));
      parts.push(draw("text", { x: LEFT - 7, y: y + 4, "text-anchor": "end" }, this.mark(mark)));
    }
    const offset = -new Date(to * 1000).getTimezoneOffset() * 60;
    const times = moments(from, to, Math.max(3, Math.floor(this.width / 110)), offset);
    for (const at of times.marks) {
      const x = this.x(at);
      if (x < LEFT + 16 || x > this.width - RIGHT - 24) continue;
      parts.push(draw("text", { x, y: HEIGHT - 4, "text-anchor": "middle" }, clock(at, times.step < 60)));
    }
    return parts;
  }

  paths(axis) {
    const { points, step } = this.data;
    const parts = [];
    let anything = false;
    this.lines.forEach(({ key }, number) => {
      let path = "";
      let before = null;
      for (const point of points) {
        if (point[key] === null) continue;
        anything ||= point[key] > 0;
        const to = `${this.x(point.at).toFixed(1)} ${this.y(axis, point[key]).toFixed(1)}`;
        // A point alone is a dot: a line of no length with round ends.
        path += before !== null && point.at - before <= step * 1.5 ? `L${to}` : `M${to}h0`;
        before = point.at;
      }
      if (path) parts.unshift(draw("path", { class: `series s${number + 1}`, d: path }));
    });
    if (!anything) {
      const middle = { x: (LEFT + this.width) / 2, y: (TOP + HEIGHT - BOTTOM) / 2, "text-anchor": "middle", class: "nothing" };
      parts.push(draw("text", middle, this.nothing));
    }
    return parts;
  }

  markCursor(point, axis) {
    if (!point) return [];
    const x = this.x(point.at).toFixed(1);
    const parts = [draw("path", { class: "cursor", d: `M${x} ${TOP}V${HEIGHT - BOTTOM}` })];
    this.lines.forEach(({ key }, number) => {
      if (point[key] === null) return;
      parts.push(draw("circle", { class: `dot${number + 1}`, cx: x, cy: this.y(axis, point[key]), r: 3.5 }));
    });
    return parts;
  }
}
