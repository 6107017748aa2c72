// Sorting and filtering. Without this script the page shows everything.
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // A row is ordered by the number of its cell, if there is one, and else by its text; empty ones come last.
  const value = (row, column) => {
    const cell = row.cells[column];
    if (!cell || cell.textContent === "") return null;
    return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});
  for (const head of all("th")) {
    head.firstElementChild.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const body = head.closest("table").tBodies[0];
      const rows = [...body.rows].map((row, at) => ({row, at, by: value(row, head.cellIndex)}));
      rows.sort((a, b) => (a.by === null) - (b.by === null) || (a.by === null ? 0 : sign * compare(a.by, b.by)) || a.at - b.at);
      body.append(...rows.map(r => r.row));
    });
  }

  // An engine is shown where it is chosen and has all traits that are. In charts its colour goes.
  const filter = () => {
    const traits = all("input[data-trait]:checked").map(input => input.dataset.trait);
    const engines = new Map();
    for (const input of all("input[data-show-engine]")) {
      const has = input.dataset.traits.split(" ");
      engines.set(input.dataset.showEngine, input.checked && traits.every(trait => has.includes(trait)));
    }
    const promises = new Map(all("input[data-show-promise]").map(input => [input.dataset.showPromise, input.checked]));
    for (const e of all("[data-engine], [data-promise]")) {
      e.hidden = engines.get(e.dataset.engine) === false || promises.get(e.dataset.promise) === false;
    }
    const colors = new Map();
    for (const input of all("input[data-show-engine]")) {
      const color = input.dataset.color;
      colors.set(color, colors.get(color) || engines.get(input.dataset.showEngine));
    }
    for (const [color, shown] of colors) {
      for (const name of ["--d" + color, "--i" + color]) {
        if (shown) document.body.style.removeProperty(name);
        else document.body.style.setProperty(name, "transparent");
      }
    }
  };
  for (const input of all(".filters input")) input.addEventListener("change", filter);
  for (const form of all(".filters")) form.addEventListener("submit", event => event.preventDefault());
  filter(); // a browser may remember what was chosen
})();
