// Light, dark, or as the system says. Runs before the page is drawn, so that
// it does not flash in the other colours.

(() => {
  const root = document.documentElement;
  let chosen = "auto";
  try {
    chosen = localStorage.getItem("forebay-theme") || "auto";
  } catch {
    // A browser that keeps nothing still shows the page.
  }
  const apply = () => { root.dataset.theme = chosen; };
  apply();
  document.addEventListener("DOMContentLoaded", () => {
    const select = document.getElementById("theme");
    select.value = chosen;
    if (select.value !== chosen) select.value = chosen = "auto";
    select.addEventListener("change", () => {
      chosen = select.value;
      apply();
      try {
        localStorage.setItem("forebay-theme", chosen);
      } catch {
        // As above.
      }
    });
  });
})();
