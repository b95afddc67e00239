// Small words for building the page. What the server says only ever becomes
// text: there is no way from a string to markup here.

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** A new element: attributes by name, `on…` as listeners, text or nodes inside. */
export function make(tag, attributes = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...inside.filter((child) => child != null));
  return element;
}

/** The same for SVG. */
export function draw(tag, attributes = {}, ...inside) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
}

/** Changes a text only where it differs, so that a selection survives. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * A table whose rows follow a list. Rows are kept by key, so that what has
 * the focus keeps it while the figures change.
 *
 * A column is `{ label, text(item) }` or `{ label, node(item, cell) }`, with
 * `wide: true` for the one that takes a whole line on a narrow screen, and
 * `number: true` for figures.
 */
export class Table {
  constructor(columns, caption, nothing) {
    this.columns = columns;
    this.rows = new Map();
    this.body = make("tbody", { role: "rowgroup" });
    const heads = columns.map((column) => make("th", {
      role: "columnheader", scope: "col", class: column.number ? "number" : null,
    }, column.label));
    this.empty = make("p", { class: "quiet", hidden: true }, nothing);
    this.table = make("table", { role: "table" },
      make("caption", { class: "for-readers" }, caption),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...heads)), this.body);
    this.element = make("div", {}, this.table, this.empty);
  }

  /** Shows these items; `key(item)` is what tells them apart. */
  show(items, key) {
    const focused = document.activeElement;
    const keys = new Map();
    for (const item of items) keys.set(String(key(item)), item);
    for (const [own, row] of this.rows) {
      if (keys.has(own)) continue;
      row.remove();
      this.rows.delete(own);
    }
    let place = 0;
    for (const [own, item] of keys) {
      let row = this.rows.get(own);
      if (!row) this.rows.set(own, row = this.row());
      this.columns.forEach((column, number) => this.fill(row.children[number], column, item));
      if (this.body.children[place] !== row) this.body.insertBefore(row, this.body.children[place] ?? null);
      place += 1;
    }
    if (focused && focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
    this.table.hidden = place === 0;
    this.empty.hidden = place !== 0;
  }

  row() {
    const cells = this.columns.map((column) => make("td", {
      role: "cell", "data-label": column.label,
      class: [column.number && "number", column.wide && "wide"].filter(Boolean).join(" ") || null,
    }));
    return make("tr", { role: "row" }, ...cells);
  }

  fill(cell, column, item) {
    if (column.node) column.node(item, cell);
    else say(cell, column.text(item));
  }
}
