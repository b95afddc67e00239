// Read-outs of charts: under the pointer, or with the arrow keys when a chart
// has the focus; a click on a name in a legend hides and shows its series.
(() => {
  "use strict";
  const SVG = "http:" + "//www.w3.org/2000/svg";
  const box = document.body.appendChild(document.createElement("div"));
  box.id = "read";

  const make = (parent, name, attributes) => {
    const element = parent.appendChild(document.createElementNS(SVG, name));
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    return element;
  };

  // The points of a series, out of the path that draws it: [x, y, label].
  const points = (group) => {
    const line = group.querySelector(".line");
    const values = line.dataset.v.split("|");
    const path = line.dataset.p || line.getAttribute("d");
    return [...path.matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)].map((m, i) => [+m[1], +m[2], values[i]]);
  };

  const chart = (svg) => {
    const [axis, ...rest] = svg.dataset.x.split("|");
    const stops = rest.filter(Boolean).map((text) => {
      const colon = text.indexOf(":");
      return [+text.slice(0, colon), text.slice(colon + 1)];
    });
    if (!stops.length) return;
    const series = [...svg.querySelectorAll("g.series")].map((group) => ({ group, points: points(group) }));
    let cursor = null;
    let current = -1;

    const hide = () => {
      box.style.display = "none";
      if (cursor) cursor.remove();
      cursor = null;
    };

    const show = (stop) => {
      hide();
      current = stop;
      const [x, label] = stops[stop];
      cursor = make(svg, "g", { class: "cursor" });
      make(cursor, "line", { x1: x, x2: x, y1: svg.dataset.top, y2: svg.dataset.bottom });
      const head = document.createElement("b");
      head.textContent = axis ? axis + ": " + label : label;
      box.replaceChildren(head);
      for (const { group, points } of series) {
        const point = group.classList.contains("hidden") ? null : points.find((p) => Math.abs(p[0] - x) < 0.06);
        if (!point) continue;
        const colour = getComputedStyle(group).getPropertyValue("--c");
        make(cursor, "circle", { cx: x, cy: point[1], r: 4.5, fill: colour });
        const row = document.createElement("div");
        const mark = document.createElement("i");
        mark.style.background = colour;
        const value = document.createElement("span");
        value.textContent = point[2];
        row.append(mark, group.dataset.n, value);
        box.append(row);
      }
      box.style.display = "block";
      const frame = svg.getBoundingClientRect();
      const scale = frame.width / svg.viewBox.baseVal.width;
      const at = frame.left + x * scale;
      const left = at + 16 + box.offsetWidth > innerWidth ? at - 16 - box.offsetWidth : at + 16;
      box.style.left = Math.max(4, left) + scrollX + "px";
      box.style.top = frame.top + scrollY + svg.dataset.top * scale + "px";
    };

    const nearest = (event) => {
      const frame = svg.getBoundingClientRect();
      const x = (event.clientX - frame.left) * svg.viewBox.baseVal.width / frame.width;
      let best = 0;
      stops.forEach((stop, i) => { if (Math.abs(stop[0] - x) < Math.abs(stops[best][0] - x)) best = i; });
      return best;
    };

    svg.addEventListener("pointermove", (event) => show(nearest(event)));
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      show(Math.min(stops.length - 1, Math.max(0, current + step)));
    });
  };

  document.querySelectorAll("svg.lines").forEach(chart);
  document.querySelectorAll(".legend button").forEach((button) => {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", shown);
      const figure = button.closest("figure");
      figure.querySelectorAll('g.series[data-i="' + button.dataset.i + '"]').forEach((group) => group.classList.toggle("hidden", !shown));
    });
  });
})();
