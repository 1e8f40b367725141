// Tables that sort by a click on a head, and show their first lines (15, or data-first) until asked for all.

function startTable(table) {
  const body = table.tBodies[0], firstLines = Number(table.dataset.first) || 15;
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  let all = body.rows.length <= firstLines + 2;

  const cut = () => [...body.rows].forEach((row, i) => row.classList.toggle("beyond", !all && i >= firstLines));
  const sort = (column, down) => {
    const words = column === 0;
    const value = (row) => row.cells[column].dataset.v;
    const rows = [...body.rows].map((row) => [row, words ? value(row) : Number(value(row) || NaN)]);
    rows.sort(([, a], [, b]) => {
      if (words) return (down ? -1 : 1) * a.localeCompare(b, "en", { numeric: true });
      if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b); // what has no figure comes last
      return down ? b - a : a - b;
    });
    body.append(...rows.map(([row]) => row));
    heads.forEach((h, i) => (i === column ? h.setAttribute("aria-sort", down ? "descending" : "ascending") : h.removeAttribute("aria-sort")));
    cut();
  };
  heads.forEach((head, i) => head.querySelector("button").addEventListener("click", () => {
    const now = head.getAttribute("aria-sort");
    sort(i, now ? now === "ascending" : i !== 0);
  }));
  if (!all) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "all";
    const name = () => { button.textContent = all ? `show the first ${firstLines}` : `show all ${body.rows.length}`; };
    button.addEventListener("click", () => { all = !all; cut(); name(); });
    name();
    table.parentElement.after(button);
  }
  cut();
}
