// From a figure to its place on an axis, and the marks beside it. Pure.

/** From 0 to a round number above `most`; marks are round in `base` (10 or 1024). */
export function linear(most, base = 10) {
  let unit = 1;
  while (base !== 10 && most / unit >= base) unit *= base;
  const top = Math.max(most / unit, base === 10 ? 1 : 1e-9);
  const rough = top / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
  // Half a request or a quarter of a byte is no mark.
  if (unit === 1) step = Math.max(1, Math.ceil(step));
  const count = Math.max(1, Math.ceil(top / step - 1e-9));
  const high = count * step * unit;
  const marks = Array.from({ length: count + 1 }, (_, n) => n * step * unit);
  return { marks, place: (value) => Math.min(1, Math.max(0, value / high)) };
}

/** From 0 to 1. */
export function whole() {
  return { marks: [0, 0.25, 0.5, 0.75, 1], place: (value) => Math.min(1, Math.max(0, value)) };
}

/** Decades around `least` and `most`. */
export function decades(least, most) {
  const low = Math.floor(Math.log10(Math.max(1, least)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(1, most))));
  const marks = Array.from({ length: high - low + 1 }, (_, n) => 10 ** (low + n));
  const place = (value) => (Math.log10(Math.max(1e-9, value)) - low) / (high - low);
  return { marks, place: (value) => Math.min(1, Math.max(0, place(value))) };
}

/** Round times between two moments, about `most` of them; seconds since 1970. */
export function moments(from, to, most, offset = 0) {
  const steps = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];
  const step = steps.find((n) => (to - from) / n <= most) ?? 7200;
  const marks = [];
  for (let at = Math.ceil((from + offset) / step) * step; at <= to + offset; at += step) marks.push(at - offset);
  return { step, marks };
}
