// The parts of the server now: origins, misses by reason, memory and disk.

import { Table, byId, make, say } from "./dom.js";
import { count, duration, orNothing, rate, share, size, time } from "./format.js";

/** The reasons, in the words of the metrics, as an operator says them. */
const REASONS = [
  ["miss_uri", "nothing was stored under the URL"],
  ["miss_vary", "only other variants were stored"],
  ["miss_stale", "the stored object was stale"],
  ["miss_request", "the request asked for it"],
  ["miss_partial", "only other ranges were stored"],
  ["miss_hit_for_miss", "the last response could not be stored"],
  ["miss_bypass", "the configuration says so"],
  ["miss_method", "the method"],
  ["miss_purged", "the object had been purged"],
  ["miss_disk_error", "the disk could not be read"],
  ["miss_other", "the object was still on its way"],
];
const MINUTE_S = 60;

const origins = new Table([
  { label: "Server", wide: true, node: (item, cell) => say(cell, `${item.pool}: ${item.server}`) },
  {
    label: "State", node: (item, cell) => {
      const up = item.state === "up";
      const told = ["draining", "down"].includes(item.state);
      say(cell, `${up ? "●" : told ? "○" : "▲"} ${item.state}`);
      cell.classList.toggle("bad", !up && !told);
      cell.classList.toggle("good", up);
    },
  },
  { label: "Weight", number: true, text: (item) => count(item.weight) },
  { label: "Active", number: true, text: (item) => count(item.active) },
  { label: "Requests", number: true, text: (item) => orNothing(item.requests, count) },
  { label: "Per second", number: true, text: (item) => orNothing(item.per_second, rate) },
  { label: "Errors", number: true, text: (item) => orNothing(item.errors, count) },
  { label: "Median", number: true, text: (item) => (item.requests ? orNothing(item.p50_us, time) : "–") },
  { label: "99 %", number: true, text: (item) => (item.requests ? orNothing(item.p99_us, time) : "–") },
], "Servers of the pools", "No pool is configured: there is nothing to fetch from.");

export class State {
  constructor() {
    byId("origins").append(origins.element);
    this.bars = new Map();
    this.past = [];
    this.room = null;
  }

  /** Shows what was asked for last. */
  update({ status, figures }) {
    const at = performance.now() / 1000;
    this.past = this.past.filter((sample) => sample.at > at - MINUTE_S - 2);
    if (this.past.at(-1)?.status.pid !== status.pid) this.past = [];
    this.past.push({ at, status, counters: figures.counters });
    this.origins(status);
    this.reasons(figures.counters);
    this.spaces(status);
  }

  origins(status) {
    const before = this.past.length > 1 ? this.past[Math.max(0, this.past.length - 6)] : null;
    const seconds = before ? this.past.at(-1).at - before.at : 1;
    const servers = (status) => status.pools.flatMap((pool) => pool.servers.map((server) => ({ ...server, pool: pool.name })));
    const old = new Map(before ? servers(before.status).map((server) => [id(server), server]) : []);
    const rows = servers(status).map((server) => {
      const then = old.get(id(server))?.requests;
      const grown = then == null || server.requests == null ? null : Math.max(0, server.requests - then) / seconds;
      return { ...server, per_second: grown };
    });
    origins.show(rows, id);
  }

  reasons(counters) {
    const first = this.past[0].counters;
    const rows = REASONS.map(([key, words]) => ({
      key, words, all: counters[key] ?? 0, lately: (counters[key] ?? 0) - (first[key] ?? 0),
    }));
    const highest = Math.max(1, ...rows.map((row) => row.lately));
    for (const row of rows) {
      let bar = this.bars.get(row.key);
      if (!bar) {
        this.bars.set(row.key, bar = reason(row));
        byId("reasons").append(bar.element);
      }
      say(bar.lately, count(row.lately));
      say(bar.all, count(row.all));
      bar.fill.style.width = `${row.lately / highest * 100}%`;
      bar.element.hidden = row.all === 0 && !["miss_uri", "miss_stale", "miss_bypass"].includes(row.key);
    }
  }

  spaces(status) {
    const { disk, memory } = status;
    const directories = disk?.directories ?? [];
    const shape = JSON.stringify([disk !== null, directories.map(({ path }) => path)]);
    if (this.room?.shape !== shape) {
      this.room = { shape, memory: space("Memory"), process: row("The process takes") };
      this.room.objects = row("Objects in memory");
      const parts = [this.room.memory.element, this.room.process.element, this.room.objects.element];
      if (disk) {
        this.room.disk = space("Disk");
        this.room.stored = row("Objects on disk");
        this.room.index = row("Memory of the index of the disk");
        this.room.directories = directories.map(({ path }) => space(path));
        parts.push(this.room.disk.element, this.room.stored.element, this.room.index.element);
        if (directories.length > 0) parts.push(...this.room.directories.map((one) => one.element));
      } else {
        parts.push(make("p", { class: "quiet" }, "There is no cache on disk ([cache.disk] is not set)."));
      }
      byId("room").replaceChildren(...parts);
    }
    fill(this.room.memory, memory);
    say(this.room.process.value, size(memory.resident_bytes));
    say(this.room.objects.value, count(status.objects));
    if (!disk) return;
    fill(this.room.disk, disk);
    say(this.room.stored.value, count(disk.objects));
    say(this.room.index.value, size(disk.index_bytes));
    directories.forEach((directory, number) => {
      const words = directory.state === "ready" ? "" : `, ${directory.state}${directory.error ? `: ${directory.error}` : ""}`;
      fill(this.room.directories[number], directory, words);
      this.room.directories[number].value.classList.toggle("bad", directory.state === "failed");
    });
  }
}

const id = (server) => `${server.pool} ${server.server}`;

function reason({ words }) {
  const bar = {
    lately: make("span", { class: "number" }), all: make("span", { class: "number quiet" }), fill: make("i"),
  };
  bar.element = make("li", {}, make("span", {}, words), bar.lately, bar.all,
    make("div", { class: "meter", "aria-hidden": "true" }, bar.fill));
  return bar;
}

function row(name) {
  const value = make("span", {});
  return { value, element: make("div", { class: "room" }, make("span", {}, name), value) };
}

/** A bar that says how much of a limit is used. */
function space(name) {
  const bar = make("i");
  const meter = make("div", { class: "meter", role: "meter", "aria-label": name, "aria-valuemin": 0 }, bar);
  const { value, element } = row(name);
  element.append(meter);
  return { value, element, meter, bar };
}

function fill({ value, meter, bar }, { used_bytes, limit_bytes }, more = "") {
  const ratio = limit_bytes > 0 ? used_bytes / limit_bytes : 0;
  const words = `${size(used_bytes)} of ${size(limit_bytes)} (${share(ratio)})${more}`;
  say(value, words);
  bar.style.width = `${Math.min(100, ratio * 100)}%`;
  meter.classList.toggle("full", ratio > 1);
  meter.setAttribute("aria-valuemax", limit_bytes);
  meter.setAttribute("aria-valuenow", Math.min(used_bytes, limit_bytes));
  meter.setAttribute("aria-valuetext", words);
}

/** The line in the head of the page. */
export function headline(status) {
  const parts = [`version ${status.version}`, `up ${duration(status.uptime_s)}`, status.workers === 1 ? "1 worker" : `${count(status.workers)} workers`];
  if (status.listening.length > 0) parts.push(status.listening.slice(0, 2).join(", "));
  return parts.join(" · ");
}
