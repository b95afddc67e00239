// The settings in force: first what was set, then what is as it comes.

import { ask, get } from "./api.js";
import { Table, byId, say } from "./dom.js";
import { count } from "./format.js";

const columns = [
  { label: "Setting", wide: true, node: (setting, cell) => { cell.classList.add("mono"); say(cell, setting.name); } },
  { label: "Value", node: (setting, cell) => { cell.classList.add("mono", "any"); say(cell, written(setting.value)); } },
];

/** A value as it would stand in the file. */
export function written(value) {
  if (value === null) return "not shown";
  if (Array.isArray(value)) return value.length ? `[${value.map(written).join(", ")}]` : "[]";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export class Config {
  constructor() {
    this.set = new Table(columns, "Settings that differ from the default", "Nothing was set.");
    this.defaults = new Table(columns, "Settings that have their default", "There are none.");
    byId("config-set").append(this.set.element);
    byId("config-defaults").append(this.defaults.element);
    this.settings = [];
    this.generation = null;
    byId("config-contains").addEventListener("input", () => this.show());
    byId("reload").addEventListener("click", () => this.reload());
  }

  /** Takes note of which configuration is in force. */
  update({ status }) {
    this.current = `${status.pid} ${status.config_generation}`;
    const file = status.config_file ?? "The server was started without a file";
    say(byId("config-file"), `${file}; configurations taken over: ${count(status.config_generation)}; log level ${status.log_level}`);
    byId("reload").disabled = status.config_file === null;
  }

  /** Asks when another one is in force. */
  async tick() {
    if (this.generation === this.current) return;
    const { current } = this;
    this.settings = (await get("/api/v1/config")).settings;
    this.generation = current;
    this.show();
  }

  show() {
    const words = byId("config-contains").value.trim().toLowerCase();
    const wanted = this.settings.filter(({ name, value }) => `${name} ${written(value)}`.toLowerCase().includes(words));
    this.set.show(wanted.filter((setting) => !setting.default), ({ name }) => name);
    this.defaults.show(wanted.filter((setting) => setting.default), ({ name }) => name);
  }

  async reload() {
    const button = byId("reload");
    const tell = (words, wrong) => {
      say(byId("config-done"), words);
      byId("config-done").className = wrong ? "bad" : "good";
    };
    button.disabled = true;
    try {
      const { warnings } = await ask("POST", "/api/v1/reload");
      tell(["The file is in force.", ...warnings].join(" "), false);
    } catch (error) {
      tell(`The old settings stay in force: ${error.message}`, true);
    }
    button.disabled = false;
  }
}
