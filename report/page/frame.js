// What all charts share: the data, the theme, keys that switch series, focus and the keyboard.

const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
const element = (id) => document.getElementById(id);
const font = getComputedStyle(document.body).fontFamily;
const touch = matchMedia("(pointer: coarse)").matches;
const charts = []; // each { at: element, chart, draw }

// Colours come from the style sheet, and are kept until the theme changes: asking for them is slow.
const hues = new Map();
function colour(name) {
  if (!hues.has(name)) hues.set(name, getComputedStyle(root).getPropertyValue(`--${name}`).trim());
  return hues.get(name);
}
const runColour = (i) => colour(`s${(i % 8) + 1}`);
// The last of eight colours is grey and belongs to "others".
const queueColour = (i) => colour(`q${(i % 8) + 1}`);

// The red, green and blue of #rrggbb or #rgb.
function parts(hex) {
  const digits = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  return [1, 3, 5].map((i) => parseInt(digits.slice(i, i + 2), 16));
}
// A colour that lets through what is below it, and one mixed with another.
const pale = (hex, share) => `rgba(${parts(hex).join(", ")}, ${share})`;
const mixed = (hex, other, share) => `rgb(${parts(hex).map((v, i) => Math.round(v * share + parts(other)[i] * (1 - share))).join(", ")})`;

// Makes a chart in the element, if the page has it. draw(chart) sets its option; it runs again when the theme changes.
function addChart(id, draw) {
  const at = element(id);
  if (!at) return null;
  // Two pixels a pixel at least, so that paper is sharp.
  const chart = yardCharts.init(at, null, { renderer: "canvas", devicePixelRatio: Math.max(2, window.devicePixelRatio || 1) });
  const entry = { at, chart, draw, width: at.clientWidth };
  charts.push(entry);
  draw(chart);
  new ResizeObserver(() => {
    if (at.clientWidth === entry.width || !at.clientWidth) return;
    entry.width = at.clientWidth;
    chart.resize();
    draw(chart);
  }).observe(at);
  return chart;
}

// Says in a chart's frame why it is empty, or takes that back.
function sayNothing(at, why) {
  const note = at.parentElement.querySelector(".nothing");
  note.hidden = !why;
  note.textContent = why;
}

const redraw = () => charts.forEach((c) => c.draw(c.chart));

// Parts of an option that all charts have.
const text = (more) => ({ color: colour("mut"), fontFamily: font, fontSize: 11, ...more });
const base = () => ({ animation: false, textStyle: { fontFamily: font }, legend: { show: false } });
const tooltip = (more) => ({
  confine: true, backgroundColor: colour("tip"), borderColor: colour("line"), borderWidth: 1, padding: [8, 10], transitionDuration: 0,
  extraCssText: `box-shadow: 0 4px 16px ${colour("shade")}; border-radius: 8px;`, ...more,
});
const line = () => ({ lineStyle: { color: colour("line") } });

// Keys above a chart: a button a series, which shows and hides it.
function addKeys(name, labels, hue, changed) {
  const on = labels.map(() => true);
  for (const at of document.querySelectorAll(`[data-keys="${name}"]`)) {
    labels.forEach((label, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.title = label;
      button.setAttribute("aria-pressed", "true");
      button.innerHTML = `<i></i><span>${esc(label)}</span>`;
      button.addEventListener("click", () => {
        on[i] = !on[i];
        if (!on.some(Boolean)) on.fill(true);
        [...at.children].forEach((b, k) => b.setAttribute("aria-pressed", String(on[k])));
        changed();
      });
      at.append(button);
    });
  }
  const paint = () => document.querySelectorAll(`[data-keys="${name}"]`).forEach((at) => [...at.children].forEach((b, i) => { b.firstChild.style.background = hue(i); }));
  paint();
  themed.push(paint);
  return on;
}

// The wheel scrolls the page until a chart has been clicked or reached with the keyboard, so that nobody is caught on the way down.
const armed = (at) => document.activeElement === at;
const inside = (at, more) => ({
  type: "inside", filterMode: "none", zoomOnMouseWheel: armed(at) ? true : "ctrl", moveOnMouseMove: !touch || armed(at), preventDefaultMouseMove: !touch || armed(at), ...more,
});

// Plus, minus, arrows and 0 on a focused chart; get and set read and move its window.
function addMoves(at, chart, get, set) {
  const arm = () => chart.setOption({ dataZoom: [{ ...inside(at), id: "inside" }] });
  at.addEventListener("focus", arm);
  at.addEventListener("blur", arm);
  at.addEventListener("pointerdown", () => at.focus({ preventScroll: true }));
  chart.getZr().on("dblclick", () => set(null));
  at.addEventListener("keydown", (e) => {
    const [from, to] = get(), width = to - from, mid = (from + to) / 2;
    const next = {
      "+": [mid - width / 4, mid + width / 4], "=": [mid - width / 4, mid + width / 4], "-": [mid - width, mid + width],
      ArrowLeft: [from - width / 5, to - width / 5], ArrowRight: [from + width / 5, to + width / 5], 0: null, Escape: null,
    };
    if (e.ctrlKey || e.metaKey || e.altKey || !(e.key in next)) return;
    e.preventDefault();
    set(next[e.key]);
  });
}

// Keeps a window inside the whole.
function fitWindow(next, least, most, shortest) {
  if (!next) return [least, most];
  const width = Math.min(most - least, Math.max(shortest, next[1] - next[0]));
  const from = Math.min(Math.max(least, next[0]), most - width);
  return [from, from + width];
}

// The theme: the system's unless the button was used, and always light on paper.
const themed = [];
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme || (systemDark.matches ? "dark" : "light")) === "dark";

function startTheme() {
  const button = element("theme");
  let kept = null;
  try { kept = localStorage.getItem("yardmaster-theme"); } catch { /* a page from disk may have no storage */ }
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  const show = () => {
    hues.clear();
    button.textContent = isDark() ? "light" : "dark";
    button.setAttribute("aria-label", `Switch to the ${button.textContent} theme`);
    themed.forEach((f) => f());
    redraw();
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("yardmaster-theme", root.dataset.theme); } catch { /* then only this page */ }
    show();
  });
  systemDark.addEventListener("change", show);
  // On paper: light, and as wide as paper, because a canvas does not flow.
  let before;
  const paper = (on) => {
    root.classList.toggle("paper", on);
    charts.forEach((c) => { c.width = c.at.clientWidth; c.chart.resize(); });
    show();
  };
  addEventListener("beforeprint", () => { before = root.dataset.theme; root.dataset.theme = "light"; paper(true); });
  addEventListener("afterprint", () => { if (before) root.dataset.theme = before; else delete root.dataset.theme; paper(false); });
  show();
}
