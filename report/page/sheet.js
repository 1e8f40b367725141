// Everything begins here. A chart in a part that is folded is made when it is opened: before, it has no width.

startTheme();
const started = new Set();
const startChart = (spec) => {
  const at = element(`chart-${spec.id}`);
  if (started.has(spec.id) || !at || !at.clientWidth) return;
  started.add(spec.id);
  addEstimates(spec);
};
const startAll = () => data.charts.forEach(startChart);
startAll();
document.querySelectorAll("details.part").forEach((d) => d.addEventListener("toggle", startAll));
addEventListener("beforeprint", () => { document.querySelectorAll("details.part").forEach((d) => { d.open = true; }); startAll(); });

// Buttons that show a part of a table's rows.
document.querySelectorAll(".filters").forEach((at) => {
  const rows = [...at.nextElementSibling.querySelectorAll("tbody tr")], buttons = [...at.children];
  at.hidden = false;
  buttons.forEach((button) => button.addEventListener("click", () => {
    buttons.forEach((b) => b.setAttribute("aria-pressed", String(b === button)));
    const tag = button.dataset.tag;
    rows.forEach((row) => { row.hidden = Boolean(tag) && !(row.dataset.tags || "").split(" ").includes(tag); });
  }));
});
