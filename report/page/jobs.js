// Jobs as bars. Only as many as can be told apart are drawn: of those that wait or run in the window, an even sample, or the ones
// with the longest waits or the most tasks. Zooming in brings the others.

// A fixed number for each job, spread evenly: the jobs with the lowest are the sample, so that moving the window keeps most of it.
const lots = (n) => Float64Array.from({ length: n }, (_, i) => ((i + 1) * 0.6180339887498949) % 1);

function addJobs() {
  const jobs = data.jobs, n = jobs.at.length, lot = lots(n);
  const pick = element("pick");
  let rows = [];

  const choose = (room) => {
    const { wait, run, of } = jobs.runs[cluster.run], [from, to] = windows.jobs;
    const inWindow = [];
    for (let i = 0; i < n; i++) {
      if (wait[i] === null || !cluster.queues[jobs.queue[i]]) continue;
      if (jobs.at[i] <= to && jobs.at[i] + wait[i] + Math.abs(run[i] || 0) >= from) inWindow.push(i);
    }
    const rank = { even: (i) => lot[i], wait: (i) => -wait[i], tasks: (i) => -jobs.tasks[i] }[pick.value];
    rows = inWindow.sort((a, b) => rank(a) - rank(b) || a - b).slice(0, room).sort((a, b) => a - b);
    const window = isWhole(windows.jobs) ? "" : " in this window";
    const some = rows.length < inWindow.length;
    const held = wait.reduce((sum, w) => sum + (w !== null), 0);
    let said = some ? `${count(rows.length)} of ${count(inWindow.length)} jobs` : rows.length === 1 ? "1 job" : `all ${count(rows.length)} jobs`;
    said += window + (held < of ? `, from a sample of ${count(held)} of ${count(of)}` : window ? ` (${count(held)} in all)` : "");
    element("shown").textContent = said.replace(/^all 0/, "no") + (some ? "; zoom in for more" : "");
  };

  const tip = (i) => {
    const { wait, run } = jobs.runs[cluster.run];
    const ended = run[i] !== null && run[i] >= 0;
    const elapsed = ended ? wait[i] + run[i] : null;
    const lines = [
      ["user", esc(jobs.users[jobs.user[i]] || "–")],
      ["queue", `<i class="key" style="background:${queueColour(jobs.queue[i])}"></i>${esc(data.queues[jobs.queue[i]] || "–")}`],
      ["tasks", count(jobs.tasks[i])],
      ["submitted", clock(jobs.at[i], 1)],
      ["wait", run[i] === null ? `${seconds(wait[i])}, never started` : seconds(wait[i])],
      ["run", run[i] === null ? "–" : seconds(Math.abs(run[i])) + (ended ? "" : ", not finished")],
      ["slowdown", ended && jobs.alone[i] > 0 ? ratio(Math.max(elapsed / jobs.alone[i], 0)) : "–"],
    ];
    return `<div class="tip"><b>${esc(jobs.prefix + jobs.id[i])}</b><table>${lines.map(([k, v]) => `<tr><td>${k}</td><td>${v}</td></tr>`).join("")}</table></div>`;
  };

  const draw = (chart) => {
    const height = chart.getHeight() - 16 - 62;
    choose(Math.floor(height / 5));
    sayNothing(chart.getDom(), data.runs[cluster.run].seen ? "" : nothingRan("was admitted"));
    const { wait, run } = jobs.runs[cluster.run];
    const pitch = Math.min(14, height / Math.max(1, rows.length)), thick = Math.max(2, Math.min(9, pitch * 0.68));
    const solid = data.queues.map((_, k) => queueColour(k)), thin = solid.map((c) => pale(c, isDark() ? 0.34 : 0.28));
    chart.setOption({
      ...base(),
      grid: { left: 12, right: 20, top: 16, bottom: 62, outerBoundsMode: "none" },
      tooltip: tooltip({ trigger: "item", formatter: (item) => tip(item.value[2]) }),
      yAxis: { type: "value", min: 0, max: height / pitch, inverse: true, show: false },
      series: [{
        id: "jobs", type: "custom", clip: true, dimensions: ["at", "row", "job"], encode: { x: 0, y: 1 },
        data: rows.map((i, k) => [jobs.at[i], k + 0.5, i]),
        renderItem: (params, api) => {
          const i = api.value(2);
          const [x, y] = api.coord([jobs.at[i], api.value(1)]);
          const start = api.coord([jobs.at[i] + wait[i], 0])[0];
          const end = api.coord([jobs.at[i] + wait[i] + Math.abs(run[i] || 0), 0])[0];
          const box = params.coordSys, clipX = (v) => Math.min(Math.max(v, box.x - 2), box.x + box.width + 2);
          const top = y - thick / 2, hue = jobs.queue[i];
          const bars = [{ type: "rect", shape: { x: clipX(x), y: top, width: Math.max(run[i] === null ? 2 : 0, clipX(start) - clipX(x)), height: thick, r: 1 }, style: { fill: thin[hue] } }];
          if (run[i] !== null) bars.push({ type: "rect", shape: { x: clipX(start), y: top, width: Math.max(clipX(end) - clipX(start), 2), height: thick, r: 1 }, style: { fill: solid[hue] } });
          // An unseen bar of at least the pitch, so that thin ones can be hit.
          bars.push({ type: "rect", shape: { x: clipX(x) - 2, y: y - pitch / 2, width: clipX(end) - clipX(x) + 4, height: pitch }, style: { fill: "transparent" } });
          return { type: "group", children: bars };
        },
      }],
      ...timeFrame(chart, "jobs", 12),
    }, { replaceMerge: ["series"] });
  };
  // Few jobs need little room.
  const most = Math.max(...jobs.runs.map((r) => r.wait.reduce((sum, w) => sum + (w !== null), 0)));
  if (element("chart-jobs") && most < 25) element("chart-jobs").style.height = `${16 + 62 + 14 * Math.max(3, most)}px`;
  const chart = addChart("chart-jobs", draw);
  if (!chart) return;
  cluster.draw.jobs = () => draw(chart);
  pick.addEventListener("change", () => draw(chart));
  follow(chart, "jobs");
}
