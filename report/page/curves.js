// Cumulative curves: the share of jobs that has at most so much of it.

function addCurve(id, label, ticks, say) {
  if (!element(`chart-${id}`)) return;
  const lowest = ticks[0][0];
  const place = (v) => log(Math.max(v, lowest));
  const runs = data.runs.map((r, i) => ({ ...r[id], name: r.name, as: r[`${id}As`], i })).filter((r) => r.x.length);
  if (!runs.length) return;
  const largest = Math.max(lowest * 10, ...runs.map((r) => r.x[r.x.length - 1]));
  const most = log(largest) + 0.05;
  let span = [log(lowest), most];

  const curves = runs.map((r) => {
    const points = r.x.map((x, k) => [place(x), r.y[k]]);
    return [[points[0][0], 0], ...points];
  });
  // The share of run r's jobs at or below x (an exponent).
  const shareAt = (r, x) => {
    const points = curves[r];
    let low = 0, high = points.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (points[mid][0] <= x + 1e-9) low = mid + 1; else high = mid;
    }
    return low ? points[low - 1][1] : 0;
  };
  // A curve that lies exactly under another one is said to be there.
  const visible = addKeys(id, runs.map((r) => (r.as ? `${r.name} (the same as ${r.as})` : r.name)), (k) => runColour(runs[k].i), () => redraw());

  const draw = (chart) => {
    const [from, to] = span;
    const room = Math.max(3, Math.floor((chart.getWidth() - 60) / 52));
    let shown = ticks.filter(([v]) => log(v) >= from - 1e-9 && log(v) <= to);
    if (shown.length < 3) shown = fineTicks(from, to, ticks, say);
    while (shown.length > room) shown = shown.filter((_, i) => i % 2 === 0);
    const names = new Map(shown.map(([v, name]) => [log(v).toFixed(6), name]));
    const at = shown.map(([v]) => log(v));
    chart.setOption({
      ...base(),
      grid: { left: 40, right: 16, top: 24, bottom: 40, outerBoundsMode: "none" },
      tooltip: tooltip({
        trigger: "axis", axisPointer: { type: "line", label: { show: false }, lineStyle: { color: colour("mut"), type: "solid", width: 1 } },
        formatter: (items) => {
          const x = items[0].axisValue;
          const rows = runs.map((r, k) => [r, shareAt(k, x), k]).filter(([, , k]) => visible[k])
            .map(([r, share]) => `<tr><td><i class="key" style="background:${runColour(r.i)}"></i>${esc(r.name)}</td><td>${percent(share)}</td></tr>`);
          return `<div class="tip">jobs with ${label} up to <b>${say(10 ** x)}</b><table>${rows.join("")}</table></div>`;
        },
      }),
      xAxis: {
        type: "value", min: log(lowest), max: most, name: `${label}, log scale`, nameLocation: "end", nameGap: 0,
        nameTextStyle: text({ align: "right", verticalAlign: "top", padding: [24, 0, 0, 0] }),
        axisLine: { onZero: false, ...line() }, splitLine: { show: false }, axisTick: { show: true, customValues: at, ...line() },
        axisLabel: text({ customValues: at, formatter: (v) => names.get(v.toFixed(6)) || "", hideOverlap: true }),
        axisPointer: { snap: false },
      },
      yAxis: {
        type: "value", min: 0, max: 1.01, name: "share of jobs", nameGap: 8, nameTextStyle: text({ align: "left", padding: [0, 0, 0, -6] }),
        axisTick: { show: false }, axisLine: { show: false }, splitLine: { show: false }, axisLabel: text({ customValues: [0, 0.25, 0.5, 0.75, 0.95], formatter: (v) => `${Math.round(v * 100)} %` }),
      },
      dataZoom: [inside(chart.getDom(), { id: "inside", xAxisIndex: 0, startValue: from, endValue: to, minValueSpan: 0.2 })],
      series: [
        {
          id: "levels", type: "line", data: [], silent: true, tooltip: { show: false },
          markLine: { z: 0, symbol: "none", silent: true, label: { show: false }, lineStyle: { color: colour("line"), type: "solid", width: 1 }, data: [0.25, 0.5, 0.75, 0.95].map((y) => ({ yAxis: y })) },
        },
        ...runs.map((r, k) => ({
          id: `run${k}`, name: r.name, type: "line", step: false, symbol: "none", data: visible[k] ? curves[k] : [], color: runColour(r.i), clip: true,
          // The first is the widest, so that curves upon each other can be told.
          lineStyle: { width: Math.max(1.6, 2.6 - 0.5 * k), type: r.i < 8 ? "solid" : "dashed" }, emphasis: { disabled: true },
          markPoint: visible[k] && r.p95 !== null
            ? { symbol: "circle", symbolSize: 7, silent: true, label: { show: false }, itemStyle: { color: runColour(r.i), borderColor: colour("card"), borderWidth: 1 }, data: [{ coord: [place(r.p95), 0.95] }] }
            : { data: [] },
        })),
      ],
    }, { replaceMerge: ["series"] });
  };
  const chart = addChart(`chart-${id}`, draw);
  const set = (next) => { span = fitWindow(next, log(lowest), most, 0.2); draw(chart); };
  chart.on("datazoom", (e) => {
    const zoom = (e.batch || [e])[0], at = (percent) => log(lowest) + ((most - log(lowest)) * percent) / 100;
    if (zoom.start !== undefined) set([at(zoom.start), at(zoom.end)]);
  });
  addMoves(chart.getDom(), chart, () => span, set);
}

// Ticks of a narrow window: 1, 2 and 5 of each power of ten.
function fineTicks(from, to, ticks, say) {
  const out = [];
  for (let power = Math.floor(from); power <= to; power++) {
    for (const m of [1, 1.5, 2, 3, 4, 5, 6, 8]) {
      const v = m * 10 ** power;
      if (log(v) >= from && log(v) <= to) out.push([v, v === ticks[0][0] ? ticks[0][1] : say(v)]);
    }
  }
  return out;
}
