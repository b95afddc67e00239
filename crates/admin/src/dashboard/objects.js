// Objects: one looked up, the hottest, the biggest.

import { get, query } from "./api.js";
import { Table, byId, make, say } from "./dom.js";
import { clock, count, duration, size } from "./format.js";

/** The lists are made by a walk through the index, so not each second. */
const EVERY_MS = 5_000;

export class Objects {
  /** `purge(url)` opens the form for it. */
  constructor(purge) {
    this.purge = purge;
    this.lists = [
      ["hottest", table("The objects with the most hits", (url) => this.look(url)), []],
      ["biggest", table("The largest objects", (url) => this.look(url)), []],
    ];
    for (const [name, list] of this.lists) byId(name).append(list.element);
    this.at = -Infinity;
    byId("look").addEventListener("submit", (event) => {
      event.preventDefault();
      this.look(byId("look-url").value.trim());
    });
    byId("limit").addEventListener("change", () => this.refresh().catch(() => { this.at = -Infinity; }));
    byId("contains").addEventListener("input", () => this.show());
  }

  /** Asks again when it is time to. */
  async tick() {
    if (performance.now() - this.at >= EVERY_MS) await this.refresh();
  }

  async refresh() {
    this.at = performance.now();
    const limit = byId("limit").value;
    await Promise.all(this.lists.map(async (list) => {
      list[2] = (await get(`/api/v1/objects/${list[0]}${query({ limit })}`)).objects;
    }));
    this.show();
  }

  show() {
    const words = byId("contains").value.trim().toLowerCase();
    for (const [, list, objects] of this.lists) {
      const wanted = objects.filter(({ url }) => url.toLowerCase().includes(words));
      say(list.empty, words && objects.length > 0 ? "No object of the list contains this." : "Nothing is stored.");
      // Variants of one URL stand in the list each by itself.
      const seen = new Map();
      const numbered = wanted.map((item) => {
        const number = (seen.get(item.url) ?? 0) + 1;
        seen.set(item.url, number);
        return { ...item, key: `${number} ${item.url}` };
      });
      list.show(numbered, ({ key }) => key);
    }
  }

  /** Looks a URL up and shows what is stored for it. */
  async look(url) {
    if (!url) return;
    byId("look-url").value = url;
    const place = byId("found");
    try {
      const found = await get(`/api/v1/objects${query({ url })}`);
      place.replaceChildren(...this.describe(found));
    } catch (error) {
      place.replaceChildren(make("p", { class: "bad" }, error.message));
    }
    byId("look").scrollIntoView({ block: "nearest" });
  }

  describe(found) {
    const parts = [facts([
      ["URL", found.url], ["A GET would be", found.verdict], ["Site", found.site ?? "none answers this host"], ["Key", found.key],
    ])];
    if (found.variants.length === 0) parts.push(make("p", {}, "Nothing is stored."));
    found.variants.forEach((variant, number) => {
      parts.push(make("div", { class: "variant" },
        make("h3", {}, `Variant ${number + 1} of ${found.variants.length}`), facts(rows(variant))));
    });
    if (found.variants.length > 0) {
      parts.push(make("button", { type: "button", onclick: () => this.purge(found.url) }, "Purge it …"));
    }
    return parts;
  }
}

function rows(variant) {
  const until = `age ${duration(variant.age_s)}, fresh for ${duration(variant.ttl_s)}, then usable for ${duration(variant.grace_s)}`;
  return [
    ["Status", String(variant.status)],
    ["Freshness", `${variant.freshness}: ${until}`],
    ["Why", variant.why],
    ["Lies in", variant.tier],
    ["Hits", count(variant.hits)],
    ["Size", size(variant.size_bytes)],
    ["Type", variant.content_type],
    ["Stored", variant.stored_at ? `${new Date(variant.stored_at * 1000).toLocaleDateString()} ${clock(variant.stored_at)}` : ""],
    ["ETag", variant.etag],
    ["Modified", variant.last_modified],
    ["Tags", variant.tags.join(", ")],
    ["Chosen by", variant.vary.join(", ")],
  ];
}

/** Names and what is known; what is not known is left out. */
function facts(rows) {
  const known = rows.filter(([, value]) => value);
  return make("dl", { class: "facts" }, ...known.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function table(caption, look) {
  const url = (item, cell) => {
    if (!cell.firstChild) {
      const button = make("button", { type: "button", class: "link clamp", onclick: () => look(button.title) });
      cell.append(button);
    }
    cell.firstChild.title = item.url;
    say(cell.firstChild, item.url);
  };
  return new Table([
    { label: "URL", wide: true, node: url },
    { label: "Hits", number: true, text: (item) => count(item.hits) },
    { label: "Size", number: true, text: (item) => size(item.size_bytes) },
    { label: "Age", number: true, text: (item) => duration(item.age_s) },
    { label: "In", text: (item) => item.tier },
  ], caption, "Nothing is stored.");
}
