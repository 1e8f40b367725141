// Estimates over categories: a mean with its interval, upright as bars or points, or lying as effects with a line at zero. The source's
// own values are hollow marks in the colour of the series that they belong to. Also curves, box plots, and spans: lying bars from low to high that
// are darker up to the mean.

function figure(v) {
  const a = Math.abs(v);
  if (v === null || !Number.isFinite(a)) return "–";
  const s = a >= 99.95 || a === Math.trunc(a) ? Math.round(v).toLocaleString("en-US") : a >= 9.995 ? v.toFixed(1) : a >= 0.9995 ? v.toFixed(2) : String(Number(v.toPrecision(3)));
  return s.replace("-", "−");
}

function addEstimates(spec) {
  const spans = spec.kind === "spans", curves = spec.kind === "lines", lying = spec.kind === "effects" || spans;
  const ours = spec.series.filter((s) => !s.paper), papers = spec.series.filter((s) => s.paper);
  // Places beside each other, for each series of ours, with the source's own on the same place where there are as many.
  const paired = papers.length === 0 || papers.length === ours.length;
  const places = paired ? Math.max(1, ours.length) : spec.series.length;
  const place = (s) => (paired ? (s.paper ? papers : ours).indexOf(s) : spec.series.indexOf(s));
  const hue = (s) => {
    if (!s.paper) return runColour(ours.indexOf(s) + 1);
    if (!paired) return runColour(ours.length + 1 + papers.indexOf(s));
    return ours.length === 1 ? colour("fg") : runColour(place(s) + 1);
  };
  const on = addKeys(spec.id, spec.series.map((s) => s.name), (i) => (spec.series[i].paper ? "transparent" : hue(spec.series[i])), () => redraw());
  const keys = [...document.querySelectorAll(`[data-keys="${spec.id}"]`)];
  const paint = () => keys.forEach((at) => spec.series.forEach((s, i) => { if (s.paper) at.children[i].firstChild.style.border = `1.6px solid ${hue(s)}`; }));
  keys.forEach((at) => {
    at.hidden = spec.series.length < 2;
    spec.series.forEach((s, i) => at.children[i].firstChild.classList.toggle("hollow", s.paper));
  });
  paint();
  themed.push(paint);

  const bars = spec.kind === "bars", grounded = bars && !spec.log;
  const scale = spec.log ? log : (v) => v;
  const values = spec.series.flatMap((s) => [...s.points, ...(s.reach || [])].filter(Boolean).flat()).filter((v) => v !== null && (!spec.log || v > 0)).map(scale);
  if (!values.length) return;
  const least = Math.min(...values, lying || grounded ? 0 : Infinity), most = Math.max(...values, lying || grounded ? 0 : -Infinity);
  const room = ((most - least) || Math.abs(most) || 1) * 0.06;
  const from = grounded && least === 0 ? 0 : least - room, to = most + room;

  const item = (s, k) => (params, api) => {
    const p = s.points[params.dataIndex];
    if (!p || !on[k] || (spec.log && !(p[0] > 0))) return null;
    const at = (v) => { const y = scale(spec.log && !(v > 0) ? p[0] : v); return api.coord(lying ? [y, params.dataIndex] : [params.dataIndex, y]); };
    const band = api.size([1, 1])[lying ? 1 : 0] * 0.72;
    const slot = Math.min(band / places, 34), shift = curves ? 0 : (place(s) - (places - 1) / 2) * slot;
    const axis = lying ? 1 : 0; // of the screen: the one that categories lie along
    const xy = (v, more = 0) => { const c = at(v); c[axis] += shift + more; return c; };
    const ink = hue(s);
    const children = [];
    if (s.paper) {
      const [x, y] = xy(p[0]), r = 4.5;
      children.push({ type: "polygon", shape: { points: [[x, y - r], [x + r, y], [x, y + r], [x - r, y]] }, style: { fill: colour("card"), stroke: ink, lineWidth: 1.6 } });
      return { type: "group", children };
    }
    if (spans) {
      const [x, y] = xy(p[1]), middle = xy(p[0])[0], end = xy(p[2])[0], height = Math.max(4, slot * 0.6);
      for (const [a, b, dark] of [[x, middle, 0.9], [middle, end, 0.4]]) {
        if (b > a) children.push({ type: "rect", shape: { x: a, y: y - height / 2, width: b - a, height }, style: { fill: mixed(ink, colour("card"), dark) } });
      }
      return { type: "group", children };
    }
    const whiskers = (s.reach || [])[params.dataIndex];
    if (whiskers) {
      const y = (v) => xy(v)[1], x = xy(p[0])[0], width = Math.max(6, slot * 0.7), stroke = { stroke: ink, lineWidth: 1.6, fill: "none" };
      const flat = (v, w) => ({ type: "line", shape: { x1: x - w / 2, x2: x + w / 2, y1: y(v), y2: y(v) }, style: stroke });
      for (const [a, b] of [[whiskers[1], p[1]], [p[2], whiskers[2]]]) children.push({ type: "line", shape: { x1: x, x2: x, y1: y(a), y2: y(b) }, style: stroke });
      children.push({ type: "rect", shape: { x: x - width / 2, y: y(p[2]), width, height: Math.max(1, y(p[1]) - y(p[2])) }, style: { ...stroke, fill: mixed(ink, colour("card"), 0.35) } });
      children.push(flat(p[0], width), flat(whiskers[1], width / 2), flat(whiskers[2], width / 2));
      return { type: "group", children };
    }
    if (bars) {
      const [x, y] = xy(p[0]), base = api.coord([params.dataIndex, spec.log ? from : 0])[1], width = Math.max(3, slot * 0.78);
      children.push({ type: "rect", shape: { x: x - width / 2, y: Math.min(y, base), width, height: Math.abs(base - y) }, style: { fill: mixed(ink, colour("card"), 0.55) } });
    }
    if (p[2] > p[1]) {
      const [x1, y1] = xy(p[1]), [x2, y2] = xy(p[2]), cap = Math.min(5, slot / 4);
      const stroke = { stroke: ink, lineWidth: 1.6, fill: "none" };
      children.push({ type: "line", shape: { x1, y1, x2, y2 }, style: stroke });
      for (const [x, y] of [[x1, y1], [x2, y2]]) {
        children.push({ type: "line", shape: lying ? { x1: x, x2: x, y1: y - cap, y2: y + cap } : { x1: x - cap, x2: x + cap, y1: y, y2: y }, style: stroke });
      }
    }
    if (!bars) {
      const [cx, cy] = xy(p[0]);
      // Filled where the interval leaves out zero: an effect that is there.
      const sure = !lying || ((p[1] > 0 || p[2] < 0) && Math.abs(p[0]) > 1e-4 * (most - least));
      children.push({ type: "circle", shape: { cx, cy, r: 4 }, style: { fill: sure ? ink : colour("card"), stroke: ink, lineWidth: 1.6 } });
    }
    return { type: "group", children };
  };

  const draw = (chart) => {
    const longest = Math.max(...spec.categories.map((c) => c.length));
    const wide = chart.getWidth(), perLabel = (wide - 60) / spec.categories.length;
    const tilt = !lying && !curves && longest * 6.2 > perLabel ? 40 : 0;
    const category = {
      type: "category", data: spec.categories, inverse: lying, axisTick: { show: false }, axisLine: { ...line(), onZero: false }, splitLine: { show: false },
      axisLabel: text({ interval: curves ? "auto" : 0, rotate: tilt, color: colour("fg"), width: lying ? Math.min(longest * 6.4 + 8, wide * 0.4) : undefined, overflow: lying ? "break" : "none", hideOverlap: !lying }),
    };
    const ticks = spec.log ? logTicks(from, to, lying ? 6 : 7) : null;
    const value = {
      type: "value", min: from, max: to,
      name: spec.unit, nameLocation: "end", nameGap: lying ? 4 : 8, nameTextStyle: text({ align: lying ? "right" : "left", padding: lying ? [22, 0, 0, 0] : [0, 0, 0, -20], verticalAlign: lying ? "top" : "bottom" }),
      axisLine: { show: false }, axisTick: { show: false }, splitLine: { show: !spec.log, lineStyle: { color: colour("line") } },
      axisLabel: text({ formatter: (v) => figure(spec.log ? Number((10 ** v).toPrecision(6)) : Math.abs(v) < 1e-12 ? 0 : v), showMinLabel: spec.log || from === 0, showMaxLabel: !!spec.log, hideOverlap: true, ...(ticks ? { customValues: ticks } : {}) }),
    };
    chart.setOption({
      ...base(),
      grid: { left: 8, right: 18, top: spec.unit && !lying ? 26 : 10, bottom: lying && spec.unit ? 24 : 6, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
      tooltip: tooltip({
        trigger: curves ? "axis" : "item",
        formatter: (hit) => {
          const e = Array.isArray(hit) ? hit[0] : hit;
          const rows = spec.series.map((s) => [s, s.points[e.dataIndex]]).filter(([, p], k) => p && on[k])
            .map(([s, p]) => `<tr><td>${esc(s.name)}</td><td>${spans ? `${figure(p[1])} to ${figure(p[2])}, turns at ${figure(p[0])}` : `${figure(p[0])}${p[2] > p[1] ? ` (${figure(p[1])} to ${figure(p[2])})` : ""}`}</td></tr>`);
          return `<div class="tip"><b>${esc(spec.categories[e.dataIndex])}</b>${spec.unit ? `, ${esc(spec.unit)}` : ""}<table>${rows.join("")}</table></div>`;
        },
      }),
      xAxis: lying ? value : category,
      yAxis: lying ? category : value,
      series: [
        {
          id: "zero", type: "line", data: [], silent: true, tooltip: { show: false },
          markLine: { z: 1, symbol: "none", silent: true, label: { show: false }, lineStyle: { color: colour("mut"), type: "solid", width: 1 }, data: lying && !spec.log ? [{ xAxis: 0 }] : least < 0 && !spec.log ? [{ yAxis: 0 }] : [] },
        },
        {
          id: "levels", type: "line", data: [], silent: true, tooltip: { show: false },
          markLine: { z: 0, symbol: "none", silent: true, label: { show: false }, lineStyle: { color: colour("line"), type: "solid", width: 1 }, data: (ticks || []).map((v) => (lying ? { xAxis: v } : { yAxis: v })) },
        },
        ...spec.series.map((s, k) => curves && !s.paper ? {
          id: `s${k}`, name: s.name, type: "line", z: 3, showSymbol: false, silent: true, lineStyle: { color: hue(s), width: 1.6 }, itemStyle: { color: hue(s) },
          data: spec.categories.map((_, i) => (on[k] && s.points[i] ? scale(s.points[i][0]) : null)),
        } : ({
          id: `s${k}`, name: s.name, type: "custom", clip: false, z: s.paper ? 4 : 3, renderItem: item(s, k), encode: lying ? { x: 1, y: 0 } : { x: 0, y: 1 },
          data: spec.categories.map((_, i) => [i, s.points[i] ? scale(s.points[i][0]) : NaN]),
        })),
      ],
    }, { replaceMerge: ["series"] });
  };
  addChart(`chart-${spec.id}`, draw);
}

// Round values between two exponents: 1, 2 and 5 of each power of ten, or fewer of them.
function logTicks(from, to, most) {
  for (const digits of [[1, 1.5, 2, 3, 4, 5, 7], [1, 2, 5], [1, 3], [1]]) {
    const at = [];
    for (let power = Math.floor(from); power <= to; power++) at.push(...digits.map((m) => log(m) + power).filter((v) => v >= from && v <= to));
    if (at.length <= most || digits.length === 1) return at;
  }
  return [];
}
