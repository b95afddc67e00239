// Exchanges as they end. The newest stand first; what is too fast to be shown
// is counted, here and by the server.

import { Refused, open, query } from "./api.js";
import { byId, make, say } from "./dom.js";
import { count, size, time } from "./format.js";

/** Lines on the page. */
const SHOWN = 200;
/** How often they are brought up to date. */
const EVERY_MS = 400;

const FIELDS = [
  ["Time", "", (one) => (one.time ?? "").split("T").at(-1).replace("Z", "")],
  ["Status", "", (one) => String(one.status ?? "–")],
  ["Cache", "", (one) => cache(one)],
  ["Took", "number", (one) => time((one.duration ?? 0) * 1e6)],
  ["Size", "number", (one) => size(one.bytes ?? 0)],
  ["Request", "wide", (one) => `${one.method ?? ""} ${one.host ?? ""}${one.target ?? ""}`],
];

export class Log {
  constructor() {
    this.waiting = [];
    this.seen = 0;
    this.skipped = 0;
    this.lost = 0;
    this.stop = null;
    this.refused = false;
    this.broken = false;
    const heads = FIELDS.map(([name, kind]) => make("th", { role: "columnheader", scope: "col", class: kind === "number" ? kind : null }, name));
    this.body = make("tbody", { role: "rowgroup" });
    byId("lines").append(make("table", { role: "table" }, make("caption", { class: "for-readers" }, "Exchanges, the newest first"),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads)), this.body));
    byId("filter").addEventListener("submit", (event) => {
      event.preventDefault();
      this.again();
    });
    byId("filter").addEventListener("reset", () => setTimeout(() => this.again()));
    setInterval(() => this.show(), EVERY_MS);
  }

  /** Follows while `wanted`, and stops when not. */
  follow(wanted) {
    if (wanted && (!this.stop || this.refused)) this.begin();
    if (!wanted && this.stop) {
      this.stop.abort();
      this.stop = null;
      say(byId("log-state"), "Paused.");
    }
  }

  again() {
    this.follow(false);
    this.body.replaceChildren();
    Object.assign(this, { waiting: [], seen: 0, skipped: 0, lost: 0 });
    this.begin();
  }

  async begin() {
    const stop = this.stop = new AbortController();
    this.refused = false;
    const filter = Object.fromEntries(new FormData(byId("filter")));
    say(byId("log-state"), "Asking …");
    try {
      const response = await open("GET", `/api/v1/log${query(filter)}`, { signal: stop.signal });
      say(byId("log-state"), "Following; no exchange has ended yet.");
      await this.read(response.body.getReader());
      this.ended(stop, "The server ended the stream.", 2_000);
    } catch (error) {
      if (stop.signal.aborted) return;
      // A filter that is wrong stays wrong; a server that is away comes back.
      const wrong = error instanceof Refused && error.status >= 400 && error.status < 500;
      this.ended(stop, error.message, wrong ? null : 2_000);
    }
  }

  ended(stop, words, againMs) {
    if (this.stop !== stop) return;
    say(byId("log-state"), words);
    byId("log-state").classList.add("bad");
    this.broken = true;
    this.refused = againMs === null;
    if (this.refused) return;
    setTimeout(() => {
      if (this.stop === stop) this.begin();
    }, againMs);
  }

  async read(reader) {
    const decoder = new TextDecoder();
    let rest = "";
    this.broken = false;
    byId("log-state").classList.remove("bad");
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line !== "") this.take(line);
    }
  }

  take(line) {
    const dropped = /^\{"dropped":(\d+)\}$/.exec(line);
    if (dropped) {
      this.lost += Number(dropped[1]);
      return;
    }
    this.seen += 1;
    this.waiting.push(line);
    if (this.waiting.length > SHOWN * 2) this.skipped += this.waiting.splice(0, this.waiting.length - SHOWN).length;
  }

  show() {
    if (this.waiting.length > 0) {
      const lines = this.waiting.splice(0);
      if (lines.length > SHOWN) this.skipped += lines.splice(0, lines.length - SHOWN).length;
      this.body.prepend(...lines.reverse().map(row));
      while (this.body.children.length > SHOWN) this.body.lastChild.remove();
    }
    if (!this.stop || this.broken || this.seen + this.lost === 0) return;
    const parts = [`${count(this.seen)} exchanges`];
    if (this.seen > SHOWN) parts.push(`the last ${SHOWN} are shown`);
    if (this.skipped > 0) parts.push(`${count(this.skipped)} were too fast to be shown`);
    if (this.lost > 0) parts.push(`${count(this.lost)} were lost on the way: this page was too slow`);
    say(byId("log-state"), `${parts.join("; ")}.`);
  }
}

function row(line) {
  let one;
  try {
    one = JSON.parse(line);
  } catch {
    one = { target: line };
  }
  const cells = FIELDS.map(([name, kind, text]) => make("td", {
    role: "cell", "data-label": name, class: [kind, name === "Status" && one.status >= 500 && "bad"].filter(Boolean).join(" ") || null,
  }, text(one)));
  return make("tr", { role: "row" }, ...cells);
}

function cache({ cache, cache_reason }) {
  if (!cache) return "–";
  return cache_reason && cache_reason !== cache ? `${cache} (${cache_reason})` : cache;
}
