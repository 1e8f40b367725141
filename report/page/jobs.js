// The jobs of a small run as bars: pale while they wait, solid while they run.

function addJobs() {
  const jobs = data.jobs, n = jobs.submit.length;
  const tip = (i) => {
    const { wait, run } = jobs.runs[cluster.run];
    const ended = run[i] !== null && run[i] >= 0;
    const elapsed = ended ? wait[i] + run[i] : null;
    const lines = [
      ["user", esc(jobs.users[jobs.user[i]] || "–")],
      ["queue", `<i class="key" style="background:${queueColour(jobs.queue[i])}"></i>${esc(data.queues[jobs.queue[i]] || "–")}`],
      ["tasks", count(jobs.tasks[i])],
      ["submitted", clock(jobs.submit[i], 1)],
      ["wait", run[i] === null ? `${seconds(wait[i])}, never started` : seconds(wait[i])],
      ["run", run[i] === null ? "–" : seconds(Math.abs(run[i])) + (ended ? "" : ", not finished")],
      ["slowdown", ended && jobs.alone[i] > 0 ? ratio(Math.max(elapsed / jobs.alone[i], 0)) : "–"],
    ];
    return `<div class="tip"><b>${esc(jobs.id[i])}</b><table>${lines.map(([k, v]) => `<tr><td>${k}</td><td>${v}</td></tr>`).join("")}</table></div>`;
  };

  const draw = (chart) => {
    const height = chart.getHeight() - 16 - 62;
    sayNothing(chart.getDom(), data.runs[cluster.run].seen ? "" : nothingRan("was admitted"));
    const { wait, run } = jobs.runs[cluster.run];
    const rows = [];
    for (let i = 0; i < n; i++) if (wait[i] !== null && cluster.queues[jobs.queue[i]]) rows.push(i);
    const pitch = Math.min(14, height / Math.max(1, rows.length)), thick = Math.max(1.5, Math.min(9, pitch * 0.68));
    const solid = data.queues.map((_, k) => queueColour(k)), thin = solid.map((c) => pale(c, isDark() ? 0.34 : 0.28));
    chart.setOption({
      ...base(),
      grid: { left: 12, right: 20, top: 16, bottom: 62, outerBoundsMode: "none" },
      tooltip: tooltip({ trigger: "item", formatter: (item) => tip(item.value[2]) }),
      yAxis: { type: "value", min: 0, max: height / pitch, inverse: true, show: false },
      series: [{
        id: "jobs", type: "custom", clip: true, dimensions: ["at", "row", "job"], encode: { x: 0, y: 1 },
        data: rows.map((i, k) => [jobs.submit[i], k + 0.5, i]),
        renderItem: (params, api) => {
          const i = api.value(2), at = jobs.submit[i];
          const [x, y] = api.coord([at, api.value(1)]);
          const start = api.coord([at + wait[i], 0])[0];
          const end = api.coord([at + wait[i] + Math.abs(run[i] || 0), 0])[0];
          const box = params.coordSys, clipX = (v) => Math.min(Math.max(v, box.x - 2), box.x + box.width + 2);
          const top = y - thick / 2, hue = jobs.queue[i];
          const bars = [{ type: "rect", shape: { x: clipX(x), y: top, width: Math.max(run[i] === null ? 2 : 0, clipX(start) - clipX(x)), height: thick, r: 1 }, style: { fill: thin[hue] } }];
          if (run[i] !== null) bars.push({ type: "rect", shape: { x: clipX(start), y: top, width: Math.max(clipX(end) - clipX(start), 2), height: thick, r: 1 }, style: { fill: solid[hue] } });
          // An unseen bar of at least the pitch, so that thin ones can be hit.
          bars.push({ type: "rect", shape: { x: clipX(x) - 2, y: y - pitch / 2, width: clipX(end) - clipX(x) + 4, height: pitch }, style: { fill: "transparent" } });
          return { type: "group", children: bars };
        },
      }],
      ...timeFrame(chart, 12),
    }, { replaceMerge: ["series"] });
  };
  // Few jobs need little room.
  const most = Math.max(0, ...jobs.runs.map((r) => r.wait.reduce((sum, w) => sum + (w !== null), 0)));
  if (element("chart-jobs") && most < 25) element("chart-jobs").style.height = `${16 + 62 + 14 * Math.max(3, most)}px`;
  addTimeChart("jobs", draw);
}
