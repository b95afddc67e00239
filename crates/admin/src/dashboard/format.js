// Quantities for a person's eyes, each with its unit.

const NARROW = "\u202f";
const NOTHING = "–";

/** `1 234 567` */
export function count(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, NARROW);
}

/** `0.4 /s`, `1 234 /s` */
export function rate(number) {
  return `${number > 0 && number < 10 ? number.toFixed(1) : count(number)}${NARROW}/s`;
}

/** `1.5 GiB` */
export function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  let value = bytes;
  while (value >= 1023.95 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit > 0 && value < 100 ? 1 : 0;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** `1.5 MiB/s` */
export const speed = (bytes) => `${size(bytes)}/s`;

/** `42 µs`, `1.2 ms`, `3.40 s`; microseconds in. */
export function time(micros) {
  if (micros < 1_000) return `${Math.round(micros)} µs`;
  if (micros < 100_000) return `${(micros / 1e3).toFixed(1)} ms`;
  if (micros < 1_000_000) return `${Math.round(micros / 1e3)} ms`;
  return `${(micros / 1e6).toFixed(2)} s`;
}

/** `42 s`, `5 min 6 s`, `3 d 4 h` */
export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86_400) return `${Math.floor(whole / 3_600)} h ${Math.floor(whole / 60) % 60} min`;
  return `${Math.floor(whole / 86_400)} d ${Math.floor(whole / 3_600) % 24} h`;
}

/** `93.1 %`; `–` where there is nothing to compare. */
export function share(ratio) {
  if (ratio == null || Number.isNaN(ratio)) return NOTHING;
  return `${(ratio * 100).toFixed(1)} %`;
}

/** What `format` makes of a figure, `–` of none. */
export const orNothing = (value, format) => (value == null ? NOTHING : format(value));

/** `12:03:10` of this place; seconds since 1970 in. */
export function clock(unix, withSeconds = true) {
  const date = new Date(unix * 1000);
  const two = (number) => String(number).padStart(2, "0");
  const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return withSeconds ? `${minutes}:${two(date.getSeconds())}` : minutes;
}
