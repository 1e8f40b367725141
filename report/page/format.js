// Figures for people, and where an axis has its ticks. The words are those of the Go side.

const esc = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const trim = (v, digits) => String(Number(v.toFixed(digits))).replace("-", "−");

function seconds(s) {
  const a = Math.abs(s);
  if (s === null || Number.isNaN(a)) return "–";
  if (a === 0) return "0 s";
  if (a < 0.0095) return `${trim(s * 1000, 2)} ms`;
  if (a < 9.95) return `${trim(s, 2)} s`;
  if (a < 99.5) return `${trim(s, 1)} s`;
  if (a < 6000) return `${trim(s / 60, 1)} min`;
  if (a < 72 * 3600) return `${trim(s / 3600, 1)} h`;
  return `${trim(s / 86400, 1)} d`;
}

function count(n) {
  return n === null || Number.isNaN(n) ? "–" : Math.round(n).toLocaleString("en-US");
}

function ratio(v) {
  if (v === null || !Number.isFinite(v)) return "–";
  return v >= 100 ? count(v) : v.toFixed(v >= 10 ? 1 : 2);
}

const percent = (share) => {
  const p = share * 100;
  return `${p > 99 && p < 100 ? Math.min(99.99, p).toFixed(2) : p.toFixed(p < 10 && p > 0 ? 1 : 0)} %`;
};

// An instant of the run as a clock shows it: 1:05:00, or 2 d 03:00 in a long one.
function clock(t, step) {
  const sign = t < 0 ? "−" : "";
  t = Math.abs(t);
  if (step < 1) return `${sign}${trim(t, 3)} s`;
  t = Math.round(t);
  const two = (n) => String(n).padStart(2, "0");
  const d = Math.floor(t / 86400), h = Math.floor((t % 86400) / 3600), m = Math.floor((t % 3600) / 60), s = t % 60;
  if (step >= 86400) return `${sign}${d} d`;
  const time = `${d ? two(h) : h}:${two(m)}${step < 60 ? `:${two(s)}` : ""}`;
  return sign + (d ? `${d} d ${time}` : time);
}

const timeSteps = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400,
  172800, 432000, 864000, 2592000, 8640000, 31536000,
];

// Round instants between from and to, about as many as wanted.
function timeTicks(from, to, wanted) {
  const step = timeSteps.find((s) => (to - from) / s <= wanted) || (to - from) / wanted;
  const at = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9 && at.length < 60; i++) at.push(i * step);
  return { step, at };
}

// Ticks of the log axes: [value, label]. What is below the first is drawn at it.
const lengthTicks = [
  [1, "≤1 s"], [10, "10 s"], [60, "1 min"], [600, "10 min"], [3600, "1 h"], [36000, "10 h"], [4 * 86400, "4 d"], [40 * 86400, "40 d"], [400 * 86400, "400 d"],
];
const ratioTicks = [1, 3, 10, 30, 100, 300, 1000, 3000, 1e4, 1e5, 1e6, 1e7, 1e8].map((v) => [v, v < 1e5 ? count(v) : `10^${Math.log10(v)}`]);
const log = Math.log10;
