// Light or dark, as the system says or as was chosen here. Not a module: it runs before the page is drawn.
"use strict";
(() => {
  const key = "bidaf theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem(key);
  } catch {
    // Storage can be forbidden; the choice then lasts as long as the page.
  }

  const isDark = () => (chosen ? chosen === "dark" : system.matches);

  function apply() {
    if (chosen) document.documentElement.dataset.theme = chosen;
    document.getElementById("theme")?.setAttribute("aria-pressed", String(isDark()));
  }

  function toggle() {
    chosen = isDark() ? "light" : "dark";
    try {
      localStorage.setItem(key, chosen);
    } catch {
      // As above.
    }
    apply();
  }

  apply();
  system.addEventListener("change", apply);
  addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", toggle);
    apply();
  });
})();
