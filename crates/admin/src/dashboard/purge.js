// The purge form, what came of it, and the bans in force.

import { ask, get } from "./api.js";
import { Table, byId, make, say } from "./dom.js";
import { clock, count } from "./format.js";

/** Of each kind: what the field is called, an example, and what it does. */
const KINDS = {
  url: ["URL", "http://shop.example/product/1", "This URL, with all its variants."],
  prefix: ["Prefix", "shop.example/news", "All URLs that begin so; /news alone is meant on every host."],
  regex: ["Regular expression", "^/img/.*\\.png$", "URLs whose path and query match."],
  tags: ["Tags", "product-1 product-2", "Objects that carry one of these tags; several are parted by spaces."],
  ban: ["Expression", "obj.status == 404 && req.url ~ \"^/news\"", "Objects that match an expression over request and response."],
  all: ["", "", "Every object, in memory and on disk."],
};
const EVERY_MS = 3_000;
const REMEMBERED = 20;

/** The order that the form says, as the API wants it. */
export function order(kind, value, host, soft) {
  const text = value.trim();
  const what = {
    tags: () => ({ tags: text.split(/\s+/).filter(Boolean) }),
    regex: () => (host.trim() ? { regex: text, host: host.trim() } : { regex: text }),
    all: () => ({ all: true }),
  }[kind]?.() ?? { [kind]: text };
  return { ...what, soft };
}

export class Purge {
  constructor() {
    this.at = -Infinity;
    this.stored = 0;
    this.list = make("ul");
    byId("done").append(this.list);
    this.bans = new Table([
      { label: "Matches", wide: true, text: (ban) => ban.expression },
      { label: "Kind", text: (ban) => (ban.soft ? "soft" : "hard") },
      { label: "Compared", number: true, text: (ban) => count(ban.tests) },
      { label: "Hit", number: true, text: (ban) => count(ban.hits) },
    ], "Bans in force", "There are none.");
    byId("bans").append(this.bans.element);
    byId("kind").addEventListener("change", () => this.explain());
    byId("order").addEventListener("submit", (event) => {
      event.preventDefault();
      this.carryOut();
    });
    this.explain();
  }

  /** Fills the form in for a URL. */
  prepare(url) {
    byId("kind").value = "url";
    byId("value").value = url;
    this.explain();
    byId("value").focus();
  }

  explain() {
    const kind = byId("kind").value;
    const [name, example, hint] = KINDS[kind];
    say(byId("value-name"), name);
    say(byId("value-hint"), hint);
    byId("value").placeholder = example;
    byId("value").required = kind !== "all";
    byId("value-label").hidden = kind === "all";
    byId("host-label").hidden = kind !== "regex";
  }

  /** Takes note of what "everything" would be. */
  update({ status }) {
    this.stored = status.objects + (status.disk?.objects ?? 0);
  }

  async carryOut() {
    const wanted = order(byId("kind").value, byId("value").value, byId("host").value, byId("soft").checked);
    if (wanted.all && !(await this.isMeant(wanted.soft))) return;
    const button = byId("order").querySelector("button");
    button.disabled = true;
    try {
      const answer = await ask("POST", "/api/v1/purge", wanted);
      answer.results.forEach((result) => this.tell(describe(result)));
    } catch (error) {
      this.tell(`Not done: ${error.message}`, "bad");
    }
    button.disabled = false;
    this.at = -Infinity;
  }

  isMeant(soft) {
    const dialog = byId("confirm");
    const words = soft ? "become stale and are asked for again" : "go and are fetched again";
    say(byId("confirm-text"), `${count(this.stored)} stored objects ${words} when they are next wanted. The origins get the load.`);
    dialog.returnValue = "no";
    dialog.showModal();
    return new Promise((resolve) => {
      dialog.onclose = () => {
        // The end of an earlier question may be told late.
        if (!dialog.open) resolve(dialog.returnValue === "yes");
      };
    });
  }

  tell(words, kind = null) {
    const line = make("li", {}, make("span", { class: "quiet" }, `${clock(Date.now() / 1000)} `), make("span", { class: kind }, words));
    this.list.prepend(line);
    while (this.list.children.length > REMEMBERED) this.list.lastChild.remove();
  }

  /** Asks for the bans when it is time to. */
  async tick() {
    if (performance.now() - this.at < EVERY_MS) return;
    this.at = performance.now();
    this.bans.show((await get("/api/v1/bans")).bans, ({ moment }) => moment);
  }
}

/** What was done, in words. */
export function describe({ done, error, objects, may_touch, merged, soft }) {
  if (error) return `Not done: ${error}`;
  const parts = [`${soft ? "Soft: " : ""}${done}`];
  if (objects != null) parts.push(`${count(objects)} objects`);
  if (may_touch != null && may_touch !== objects) parts.push(`up to ${count(may_touch)} when they are looked up`);
  if (merged) parts.push("an equal one was replaced");
  return parts.join("; ");
}
