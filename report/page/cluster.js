// Containers by queue and, of a small run, jobs as bars over time, for one scheduler at a time; and the jobs that wait under all of them. All
// charts show the same window of time.

const cluster = { run: 0, least: 0, most: 1, window: [0, 1], queues: [], draw: {}, due: 0 };

function readCluster() {
  const jobs = data.jobs, n = jobs.submit.length;
  let least = Infinity, most = -Infinity;
  data.runs.forEach((r, k) => {
    const edges = r.timeline.edges;
    if (edges.length > 1) { least = Math.min(least, edges[0]); most = Math.max(most, edges[edges.length - 1]); }
    const { wait, run } = jobs.runs[k];
    for (let i = 0; i < n; i++) {
      if (wait[i] === null) continue;
      least = Math.min(least, jobs.submit[i]);
      most = Math.max(most, jobs.submit[i] + wait[i] + Math.abs(run[i] || 0));
    }
    r.held = r.timeline.held.some((row) => row.some((v) => v > 0));
    r.seen = wait.some((w) => w !== null);
    r.busy = r.held || r.seen;
  });
  if (!(most > least)) { least = Number.isFinite(least) ? least : 0; most = least + 1; }
  Object.assign(cluster, { least, most, window: [least, most] });
  cluster.run = Math.max(0, data.runs.findIndex((r) => r.busy));
}

function moveTo(next) {
  cluster.window = fitWindow(next, cluster.least, cluster.most, (cluster.most - cluster.least) / 20000);
  drawCluster();
}

// Draws what changed, once a frame.
function drawCluster() {
  if (cluster.due) return;
  cluster.due = requestAnimationFrame(() => {
    cluster.due = 0;
    Object.values(cluster.draw).forEach((draw) => draw());
  });
}

// The axis and the zoom that all charts have.
function timeFrame(chart, left) {
  const [from, to] = cluster.window;
  document.querySelectorAll(".whole").forEach((b) => { b.hidden = to - from > (cluster.most - cluster.least) * 0.999; });
  const wide = chart.getWidth() - left - 20;
  const { step, at } = timeTicks(from, to, Math.max(2, Math.floor(wide / 90)));
  return {
    xAxis: {
      type: "value", min: cluster.least, max: cluster.most, name: `since the start${step < 1 ? "" : step < 60 ? ", h:min:s" : step < 86400 ? ", h:min" : ", days"}`, nameLocation: "end", nameGap: 0,
      nameTextStyle: text({ align: "right", verticalAlign: "top", padding: [24, 0, 0, 0] }),
      axisLine: { onZero: false, ...line() }, splitLine: { show: false }, axisTick: { show: true, customValues: at, ...line() },
      axisLabel: text({ customValues: at, formatter: (v) => clock(v, step), hideOverlap: true, alignMinLabel: at[0] === from ? "left" : undefined, alignMaxLabel: ((to - at[at.length - 1]) / (to - from)) * wide < 12 ? "right" : undefined }),
    },
    dataZoom: [
      inside(chart.getDom(), { id: "inside", xAxisIndex: 0, startValue: from, endValue: to }),
      {
        id: "slider", type: "slider", filterMode: "none", xAxisIndex: 0, startValue: from, endValue: to, height: 16, bottom: 4, left, right: 20,
        showDataShadow: false, brushSelect: false, showDetail: false, borderColor: colour("line"), fillerColor: pale(runColour(0), 0.22), backgroundColor: "transparent",
        handleStyle: { color: colour("bg"), borderColor: colour("mut") }, moveHandleStyle: { color: colour("mut"), opacity: 0.25 }, moveHandleSize: 4,
        emphasis: { handleStyle: { borderColor: colour("fg") }, moveHandleStyle: { color: colour("mut"), opacity: 0.5 } },
      },
    ],
  };
}

// Adds a chart over time, if the page has it.
function addTimeChart(name, draw) {
  const chart = addChart(`chart-${name}`, draw);
  if (!chart) return;
  cluster.draw[name] = () => draw(chart);
  chart.on("datazoom", (e) => {
    const zoom = (e.batch || [e])[0], whole = cluster.most - cluster.least;
    const at = (value, percent) => (value === undefined ? cluster.least + (whole * percent) / 100 : value);
    moveTo([at(zoom.startValue, zoom.start), at(zoom.endValue, zoom.end)]);
  });
  addMoves(chart.getDom(), chart, () => cluster.window, moveTo);
}

// Averages of the intervals that are in the window, in about `most` steps: all of a small run, a summary of a large one.
function steps(timeline, from, to, most) {
  const edges = timeline.edges;
  let a = 0, b = edges.length - 1;
  while (a < b - 1 && edges[a + 1] <= from) a++;
  while (b > a + 1 && edges[b - 1] >= to) b--;
  const least = (Math.min(to, edges[b]) - Math.max(from, edges[a])) / most;
  const out = { at: [], held: timeline.held.map(() => []) };
  for (let i = a, end; i < b; i = end) {
    end = i + 1;
    while (end < b && edges[end + 1] - edges[i] <= least) end++;
    out.at.push(edges[i]);
    timeline.held.forEach((row, q) => {
      let area = 0;
      for (let k = i; k < end; k++) area += row[k] * (edges[k + 1] - edges[k]);
      out.held[q].push(area / (edges[end] - edges[i] || 1));
    });
  }
  out.end = edges[b];
  return out;
}

function addContainers() {
  let seen = null;
  // What a run's cluster has at a time, and the most that any has.
  const has = (run, t) => (run.ceiling.findLast(([from]) => from <= t) ?? run.ceiling[0] ?? [0, 0])[1];
  const ceiling = Math.max(0, ...data.runs.flatMap((r) => r.ceiling.map(([, n]) => n)));
  // The same height for all schedulers, so that switching compares.
  let peak = 1;
  for (const { timeline } of data.runs) {
    for (let i = 0; i + 1 < timeline.edges.length; i++) peak = Math.max(peak, timeline.held.reduce((sum, row) => sum + (row[i] || 0), 0));
  }
  const top = Math.max(ceiling, peak > ceiling * 1.001 || !ceiling ? peak * 1.05 : 0);
  const draw = (chart) => {
    const run = data.runs[cluster.run];
    sayNothing(chart.getDom(), run.held ? "" : nothingRan("held a container"));
    seen = run.timeline.edges.length > 1 ? steps(run.timeline, ...cluster.window, Math.max(100, chart.getWidth() / 1.5)) : { at: [], held: data.queues.map(() => []), end: 0 };
    const sums = seen.at.map(() => 0);
    const tops = seen.held.map((row, k) => sums.map((_, i) => (cluster.queues[k] ? (sums[i] += row[i]) : sums[i])));
    const left = 14 + 7 * Math.max(2, count(top).length);
    const levels = ceiling && top === ceiling ? [0, ceiling / 4, ceiling / 2, (ceiling * 3) / 4, ceiling].filter((v) => Number.isInteger(v)) : undefined;
    chart.setOption({
      ...base(),
      grid: { left, right: 20, top: 24, bottom: 62, outerBoundsMode: "none" },
      tooltip: tooltip({
        trigger: "axis", axisPointer: { type: "line", label: { show: false }, lineStyle: { color: colour("mut"), type: "solid", width: 1 } },
        formatter: (items) => {
          const x = items[0].axisValue;
          let i = seen.at.length - 1;
          while (i > 0 && seen.at[i] > x) i--;
          if (i < 0) return "";
          const until = seen.at[i + 1] ?? seen.end;
          let total = 0;
          const rows = data.queues.map((q, k) => {
            const held = seen.held[k][i] || 0;
            total += held;
            return cluster.queues[k] && held > 0.004 ? `<tr><td><i class="key" style="background:${queueColour(k)}"></i>${esc(q)}</td><td>${held < 10 ? trim(held, 1) : count(held)}</td></tr>` : "";
          }).reverse();
          return `<div class="tip"><b>${clock(seen.at[i], until - seen.at[i] < 60 ? 1 : 60)}</b> · mean over ${seconds(until - seen.at[i])}<table>${rows.join("")}` +
            `<tr><td>in use</td><td>${count(total)}${ceiling ? ` of ${count(has(run, seen.at[i]))}` : ""}</td></tr></table></div>`;
        },
      }),
      yAxis: {
        type: "value", min: 0, max: top, name: "containers in use", nameGap: 8, nameTextStyle: text({ align: "left", padding: [0, 0, 0, -6] }), axisTick: { show: false }, axisLine: { show: false },
        splitLine: { show: !levels, ...line() }, axisLabel: text({ ...(levels ? { customValues: levels } : {}), formatter: (v) => (v === top && !levels ? "" : count(v)) }),
      },
      series: [
        // Each area reaches from the bottom to the top of its queue and lies on the one above it, so that no seam shows between them.
        ...data.queues.map((q, k) => ({
          id: `queue${k}`, name: q, type: "line", symbol: "none", z: 2 + (data.queues.length - k) / 100, color: mixed(queueColour(k), colour("card"), 0.86), lineStyle: { width: 0 }, areaStyle: { opacity: 1 },
          emphasis: { disabled: true }, data: cluster.queues[k] ? seen.at.flatMap((t, i) => [[t, tops[k][i]], [seen.at[i + 1] ?? seen.end, tops[k][i]]]) : [],
        })),
        {
          id: "ceiling", type: "line", step: "end", symbol: "none", silent: true, z: 4, tooltip: { show: false }, lineStyle: { color: colour("ceiling"), type: [4, 3], width: 1 },
          data: run.ceiling.length && seen.at.length ? [[seen.at[0], has(run, seen.at[0])], ...run.ceiling.filter(([from]) => from > seen.at[0] && from < seen.end), [seen.end, has(run, seen.end)]] : [],
          endLabel: text({ show: run.ceiling.length > 0, align: "right", offset: [-6, -9], formatter: () => `ceiling ${count(has(run, seen.end))}` }),
        },
      ],
      ...timeFrame(chart, left),
    }, { replaceMerge: ["series"] });
  };
  addTimeChart("containers", draw);
}

// Why a chart of the scheduler shown is empty.
const nothingRan = (what) => `No job ${what}${data.runs.length > 1 ? ` under ${data.runs[cluster.run].name}` : ""}, so there is nothing to draw.`;

function startCluster() {
  if (!element("cluster")) return;
  readCluster();
  cluster.queues = addKeys("queues", data.queues, queueColour, drawCluster);
  const which = element("which");
  const show = (k) => {
    cluster.run = k;
    document.querySelectorAll(".who").forEach((at) => { at.textContent = data.runs.length > 1 ? `${data.runs[k].name}; ` : ""; });
    which.querySelectorAll("button").forEach((b, i) => b.setAttribute("aria-pressed", String(i === k)));
    drawCluster();
  };
  if (data.runs.length > 1 && data.runs.length <= 4) {
    data.runs.forEach((r, k) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = button.title = r.name;
      button.addEventListener("click", () => show(k));
      which.append(button);
    });
  } else if (data.runs.length > 4) {
    const select = document.createElement("select");
    select.setAttribute("aria-label", "scheduler");
    select.append(...data.runs.map((r, k) => new Option(r.name, String(k))));
    select.value = String(cluster.run);
    select.addEventListener("change", () => show(Number(select.value)));
    which.append(select);
  }
  document.querySelectorAll(".whole").forEach((b) => b.addEventListener("click", () => moveTo(null)));
  addWaiting();
  addContainers();
  addJobs();
  show(cluster.run);
}
