// Jobs that wait for their first container, over time: of all schedulers together, and each less the first.

function addWaiting() {
  const all = data.waiting, n = Math.max(0, ...all.map((w) => w.length)), width = (data.to - data.from) / (n || 1);
  const lines = (name, values, from, say) => {
    if (!element(`chart-${name}`)) return;
    const runs = values.map((_, i) => i).filter((i) => i >= from && values[i].length);
    const visible = addKeys(name, runs.map((i) => data.runs[i].name), (k) => runColour(runs[k]), () => redraw());
    addTimeChart(name, (chart) => {
      const shown = runs.filter((_, k) => visible[k]);
      let low = 0, high = 1;
      shown.forEach((i) => values[i].forEach((v) => { low = Math.min(low, v); high = Math.max(high, v); }));
      const left = 14 + 7 * Math.max(2, count(high).length, count(low).length);
      chart.setOption({
        ...base(),
        grid: { left, right: 20, top: 24, bottom: 62, outerBoundsMode: "none" },
        tooltip: tooltip({
          trigger: "axis", axisPointer: { type: "line", label: { show: false }, lineStyle: { color: colour("mut"), type: "solid", width: 1 } },
          formatter: (items) => {
            const k = Math.min(n - 1, Math.max(0, Math.floor((items[0].axisValue - data.from) / width)));
            const rows = shown.map((i) => `<tr><td><i class="key" style="background:${runColour(i)}"></i>${esc(data.runs[i].name)}</td><td>${say(values[i][k])}</td></tr>`);
            return `<div class="tip"><b>${clock(data.from + k * width, width < 60 ? 1 : 60)}</b> · mean over ${seconds(width)}<table>${rows.join("")}</table></div>`;
          },
        }),
        yAxis: {
          type: "value", min: low, max: high, name: from ? "more jobs waiting" : "jobs waiting", nameGap: 8, nameTextStyle: text({ align: "left", padding: [0, 0, 0, -6] }), axisTick: { show: false },
          axisLine: { show: false }, splitLine: { show: true, ...line() }, axisLabel: text({ formatter: (v) => (v === high || v === low && low ? "" : say(v)) }),
        },
        series: runs.map((i, k) => ({
          id: `run${i}`, name: data.runs[i].name, type: "line", step: "end", symbol: "none", color: runColour(i), emphasis: { disabled: true }, areaStyle: from ? { opacity: 0.1 } : undefined,
          lineStyle: { width: Math.max(1.2, 2 - 0.3 * k), type: i < 8 ? "solid" : "dashed" }, data: visible[k] ? values[i].map((v, b) => [data.from + (b + 1) * width, v]) : [],
        })),
        ...timeFrame(chart, left),
      }, { replaceMerge: ["series"] });
    });
  };
  const tenth = (v) => (Math.abs(v) < 10 ? trim(v, 1) : count(v).replace("-", "−"));
  lines("waiting", all, 0, tenth);
  lines("difference", all.map((w) => w.map((v, k) => v - (all[0][k] ?? 0))), 1, (v) => (v > 0 ? "+" : "") + tenth(v));
}
