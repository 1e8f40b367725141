// Opens pages in headless Chromium, at phone and desktop sizes, and checks that they are readable.
//
//   node layout.mjs PAGE.html...
//
// No text overlaps another or leaves the window; the cells of a table row share a baseline; the border under a row is unbroken.
import assert from "node:assert/strict";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { start } from "./browser.mjs";

// Returns the layout problems of the visible texts, as sentences.
const misplaced = () => {
  const wrong = [], boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const seen = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !element.closest(".hide, .chart, script, style, noscript");
  // The visible part of an element: every ancestor that scrolls or clips may cut some off.
  const frame = (element) => {
    let [left, right, scrolls] = [-Infinity, Infinity, false];
    for (let at = element; at; at = at.parentElement) {
      const { overflowX } = getComputedStyle(at);
      if (overflowX === "visible" || at === document.body || at === document.documentElement) continue;
      const box = at.getBoundingClientRect();
      [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      scrolls ||= overflowX === "auto" || overflowX === "scroll";
    }
    return { left, right, scrolls };
  };
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.trim(), element = node.parentElement;
    if (!text || !seen(element)) continue;
    const { left, right } = frame(element);
    range.selectNodeContents(node);
    if (text.length > 4 && range.getClientRects().length > text.length / 2) wrong.push(`"${text}" is broken into letters`);
    for (const r of range.getClientRects()) {
      const box = { left: Math.max(r.left, left), right: Math.min(r.right, right), top: r.top, bottom: r.bottom, text, node };
      if (box.right - box.left < 1) continue;
      if (box.left < -1 || box.right > innerWidth + 1) wrong.push(`"${text}" leaves the window`);
      boxes.push(box);
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((a, i) => {
    for (let k = i + 1; k < boxes.length && boxes[k].top < a.bottom; k++) {
      const b = boxes[k];
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left), down = Math.min(a.bottom, b.bottom) - b.top;
      if (a.node !== b.node && across > 2 && down > 0.35 * Math.min(a.bottom - a.top, b.bottom - b.top)) wrong.push(`"${a.text}" lies over "${b.text}"`);
    }
  });
  for (const row of document.querySelectorAll("tbody tr")) {
    if (getComputedStyle(row).display !== "table-row") continue;
    const first = new Map(); // by cell: the lowest point of its first line
    for (const box of boxes.filter((box) => row.contains(box.node))) {
      const cell = box.node.parentElement.closest("th, td");
      if (!first.has(cell) && getComputedStyle(box.node.parentElement).fontSize === getComputedStyle(row.cells[0]).fontSize) first.set(cell, box);
    }
    const feet = [...first.values()].map((box) => box.bottom);
    const oneLine = [...row.cells].every((cell) => cell.getBoundingClientRect().height < 40);
    if (oneLine && Math.max(...feet) - Math.min(...feet) > 1) wrong.push(`"${row.cells[0].textContent.trim()}" stands ${(Math.max(...feet) - Math.min(...feet)).toFixed(1)} pixels off its row`);
  }
  return wrong;
};

// Whether a border is drawn under the first and the second cell of each table's first row. Only a screenshot tells: Chromium omits the
// collapsed borders of sticky cells.
async function lines(page) {
  const wrong = [];
  for (const row of await page.$$("table tbody tr:first-child:not(:only-child)")) {
    const cells = (await row.$$("th, td")).slice(0, 2);
    if (cells.length < 2 || !(await row.isVisible()) || await row.evaluate((r) => getComputedStyle(r).display !== "table-row")) continue;
    await row.scrollIntoViewIfNeeded();
    const strip = async (cell) => {
      const box = await cell.boundingBox();
      const picture = await page.screenshot({ clip: { x: box.x + box.width / 2 - 1, y: box.y + box.height - 3, width: 2, height: 5 } });
      return page.evaluate(async (url) => {
        const image = new Image();
        image.src = url;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        const paper = canvas.getContext("2d", { willReadFrequently: true });
        paper.drawImage(image, 0, 0);
        const { data } = paper.getImageData(0, 0, canvas.width, canvas.height);
        return new Set(Array.from({ length: data.length / 4 }, (_, i) => data.slice(4 * i, 4 * i + 3).join())).size > 1;
      }, `data:image/png;base64,${picture.toString("base64")}`);
    };
    const [first, second] = [await strip(cells[0]), await strip(cells[1])];
    if (first !== second) wrong.push(`the line under "${(await cells[0].textContent()).trim()}" does not go all the way`);
  }
  return wrong;
}

// checkLayout fails with the first few layout problems of a page.
export async function checkLayout(page) {
  const wrong = [...await page.evaluate(misplaced), ...await lines(page)];
  assert.deepEqual(wrong.slice(0, 5), [], `${wrong.length} texts or lines are not where they can be read`);
}

if (process.argv[1] && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) {
  const browser = await start();
  let failed = 0;
  for (const file of process.argv.slice(2)) {
    for (const width of [390, 1280]) {
      const page = await browser.newPage({ viewport: { width, height: 1000 } });
      try {
        await page.goto(pathToFileURL(resolve(file)).href);
        await page.waitForTimeout(150);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `the page is ${wide} wide in a window of ${width}`);
        await checkLayout(page);
      } catch (e) {
        failed++;
        console.error(`${basename(file)}, ${width} pixels: ${e.message}`);
      }
      await page.close();
    }
  }
  await browser.close();
  if (!failed) console.log("layout: ok");
  process.exit(failed ? 1 : 0);
}
