// Opens reports in headless Chromium and checks that they work for a reader.
//
//   node check.mjs REPORT.html...
//
// Each must open from disk without errors, network requests or horizontal scrolling, from 390 to 1400 pixels wide in both themes;
// have no overlapping text (layout.mjs); draw its charts; show tooltips; zoom with wheel, keyboard and slider; sort its tables; and switch its theme.
import assert from "node:assert/strict";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { start } from "./browser.mjs";
import { checkLayout } from "./layout.mjs";

const files = process.argv.slice(2);
if (!files.length) {
  console.error("use: check.mjs REPORT.html...");
  process.exit(2);
}

// colours counts the colours of a chart's canvas: a blank one has one.
const colours = (page, id) => page.$eval(`#${id} canvas`, (canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4 * 7) seen.add((data[i] << 24) | (data[i + 1] << 16) | (data[i + 2] << 8) | data[i + 3]);
  return seen.size;
});

// look is a chart's picture, to detect changes.
const look = (page, id) => page.$eval(`#${id} canvas`, (canvas) => canvas.toDataURL());
const settle = (page) => page.waitForTimeout(150);

// changes waits until a chart looks different, for up to ten seconds, and returns its new picture.
async function changes(page, id, before, wrong) {
  for (let tries = 0; tries < 66; tries++) {
    await settle(page);
    const now = await look(page, id);
    if (now !== before) {
      await settle(page); // let it settle
      return look(page, id);
    }
  }
  assert.fail(wrong);
}

async function open(browser, file, width, colorScheme) {
  const page = await browser.newPage({ viewport: { width, height: 1000 }, colorScheme });
  const wrong = [];
  // Ignore the warning about canvas readback: this check causes it.
  page.on("console", (m) => { if (["error", "warning"].includes(m.type()) && !m.text().includes("willReadFrequently")) wrong.push(m.text()); });
  page.on("pageerror", (e) => wrong.push(String(e.stack || e)));
  page.on("dialog", (d) => { wrong.push(`a dialog: ${d.message()}`); d.dismiss(); });
  page.on("request", (r) => { if (!/^(file|data):/.test(r.url())) wrong.push(`asked for ${r.url()}`); });
  await page.goto(pathToFileURL(resolve(file)).href);
  await settle(page);
  return { page, wrong };
}

async function checkCharts(page) {
  const ids = await page.$$eval(".chart", (all) => all.map((c) => c.id));
  for (const id of ids) {
    assert.ok(await page.$(`#${id} canvas`), `${id} has no canvas`);
    assert.ok((await page.getAttribute(`#${id}`, "aria-label"))?.length > 20, `${id} has no label`);
  }
  return ids;
}

async function checkHover(page, id) {
  await page.locator(`#${id}`).scrollIntoViewIfNeeded();
  const box = await page.locator(`#${id}`).boundingBox();
  const shown = () => page.$$eval(`#${id} .tip`, (tips) => tips.some((t) => getComputedStyle(t.parentElement).visibility !== "hidden" && t.textContent.length > 10));
  // Bars may be few and thin: point at coloured pixels.
  const places = await page.$eval(`#${id} canvas`, (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const out = [];
    for (let y = 0; y < canvas.height * 0.8; y += 2) {
      for (let x = 0; x < canvas.width; x += 2) {
        const [r, g, b] = data.slice((y * canvas.width + x) * 4, (y * canvas.width + x) * 4 + 3);
        if (Math.max(r, g, b) - Math.min(r, g, b) > 70) out.push([x / canvas.width, y / canvas.height]);
      }
    }
    return out.filter((_, i) => i % Math.ceil(out.length / 40) === 0);
  });
  for (const [x, y] of [...places, [0.5, 0.5]]) {
    await page.mouse.move(box.x + box.width * x, box.y + box.height * y);
    if (await shown()) return;
  }
  assert.fail(`${id} shows no tooltip`);
}

async function checkZoom(page, id) {
  const chart = page.locator(`#${id}`);
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const before = await look(page, id);
  await chart.focus();
  await page.mouse.wheel(0, -400);
  const wheeled = await changes(page, id, before, `${id}: the wheel does not zoom`);
  await page.keyboard.press("+");
  const pressed = await changes(page, id, wheeled, `${id}: the key + does not zoom`);
  await page.keyboard.press("ArrowRight");
  await changes(page, id, pressed, `${id}: the arrow does not move`);
  await page.keyboard.press("0");
  await settle(page);
}

// All charts over time show the same window.
async function checkLink(page) {
  const before = await look(page, "chart-containers");
  await page.locator("#chart-waiting").focus();
  await page.keyboard.press("+");
  await changes(page, "chart-containers", before, "a zoom into the jobs that wait does not move the containers");
  await page.keyboard.press("0");
  await settle(page);
}

async function checkTables(page) {
  await page.$$eval("details", (all) => all.forEach((d) => { d.open = true; }));
  for (const table of await page.$$("table.sortable")) {
    const column = () => table.$$eval("tbody tr td:nth-of-type(1)", (cells) => cells.map((c) => c.dataset.v).filter(Boolean).map(Number));
    const head = await table.$("thead tr:last-child th:nth-child(2) button");
    await head.click();
    let values = await column();
    assert.deepEqual(values, values.toSorted((a, b) => b - a), "the first click sorts largest first");
    await head.click();
    values = await column();
    assert.deepEqual(values, values.toSorted((a, b) => a - b), "the second click sorts smallest first");
    assert.equal(await table.$$eval("th[aria-sort]", (all) => all.length), 1);
  }
  for (const button of await page.$$("button.all")) {
    const hidden = () => page.$$eval("tr.beyond", (rows) => rows.length);
    const before = await hidden();
    await button.click();
    assert.ok((await hidden()) < before, "show all shows more");
  }
}

async function checkTheme(page) {
  const back = () => page.$eval("body", (b) => getComputedStyle(b).backgroundColor);
  const before = await back();
  await page.click("#theme");
  await settle(page);
  assert.notEqual(await back(), before, "the theme does not change");
  await page.click("#theme");
  await settle(page);
  assert.equal(await back(), before, "the theme does not change back");
}

const browser = await start();
let failed = 0;
for (const file of files) {
  try {
    for (const [width, theme] of [[1400, "light"], [1400, "dark"], [390, "light"], [390, "dark"]]) {
      const { page, wrong } = await open(browser, file, width, theme);
      const ids = await checkCharts(page);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `the page is ${wide} wide in a window of ${width}`);
      if (theme === "light") await checkLayout(page);
      const full = process.env.EMPTY ? [] : ids;
      for (const id of full) assert.ok((await colours(page, id)) > 5, `${id} is empty`);
      if (width === 1400 && theme === "light") {
        for (const id of full) await checkHover(page, id);
        for (const id of full.filter((id) => !/^chart-e\d/.test(id))) await checkZoom(page, id); // charts of estimates do not zoom
        if (full.includes("chart-containers") && full.includes("chart-waiting")) await checkLink(page);
        const which = await page.$$("#which button");
        if (which.length > 1 && full.includes("chart-containers")) {
          const before = await look(page, "chart-containers");
          await which[which.length - 1].click();
          await changes(page, "chart-containers", before, "another scheduler looks the same");
        }
        await checkTables(page);
        await checkTheme(page);
        await page.emulateMedia({ media: "print" });
        await page.pdf({ format: "A4" });
      }
      assert.deepEqual(wrong, [], "errors in the page");
      await page.close();
    }
    console.log(`${basename(file)}: ok`);
  } catch (e) {
    failed++;
    console.error(`${basename(file)}: ${e.message}`);
    await Promise.all(browser.contexts().map((c) => c.close()));
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
