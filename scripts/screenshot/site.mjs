// Opens the pages of the built site in headless Chromium, on a desktop and on a phone.
//
//   node site.mjs PAGES.json SITE            checks every page and the search
//   node site.mjs --measure PAGES.json SITE [PAGE...]   only prints the table, of front pages or of those named (docs/what-if.md)
//
// No page may ask another host for anything, report an error, or be wider than the window: wide tables and code scroll in their box. A front page (all but
// those of the sections Reference and Evidence) has a picture and is at most two screens long; all of them have at most 25,000 words.
//
// A screen is the height of a window of 1440 x 1080 pixels; a page's length is that of its text and pictures, without the site's header and footer.
// Words are counted as wc does, in the page's source, code included.
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { pathToFileURL } from "node:url";
import { start } from "./browser.mjs";

const DESKTOP = { width: 1440, height: 1080 }, PHONE = { width: 390, height: 844 };
const MOST_WORDS = 25000, MOST_SCREENS = 2;

// Pages that miss a limit, and by how much at most: printed as missed, and an error only if it gets worse.
const LONGER = {
  "docs/schedule-on-kubernetes.md": 2.9, // typed from its first line to its last, on an empty cluster and back
};
const BARE = ["docs/compared.md", "docs/sweep-on-a-cluster.md", "docs/traces.md", "docs/upgrade-kubernetes.md", "docs/why-is-it-waiting.md"]; // nothing there to draw

const args = process.argv.slice(2);
const measuring = args[0] === "--measure";
if (measuring) args.shift();
const [list, site, ...named] = args;
if (!site) {
  console.error("use: site.mjs [--measure] PAGES.json SITE [PAGE...]");
  process.exit(2);
}
let pages = JSON.parse(readFileSync(list));
if (named.length) pages = pages.filter((p) => named.some((name) => p.file === name || p.file.endsWith(`/${name}`)));
else if (measuring) pages = pages.filter((p) => p.front);
if (!pages.length) {
  console.error("no such page");
  process.exit(2);
}

const types = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png" };
const server = createServer((request, response) => {
  let file = join(site, normalize(decodeURIComponent(new URL(request.url, "http://site").pathname)));
  if (existsSync(file) && statSync(file).isDirectory()) file = join(file, "index.html");
  if (!existsSync(file)) return void response.writeHead(404).end();
  response.writeHead(200, { "content-type": types[extname(file)] || "application/octet-stream", "cache-control": "max-age=3600" });
  createReadStream(file).pipe(response);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

const wrong = [];
const browser = await start();

// open returns a page that records what it should not do.
async function open(base = origin) {
  const page = await browser.newPage();
  const at = () => page.url().slice(base.length);
  page.on("console", (m) => { if (m.type() === "error") wrong.push(`${at()}: ${m.text()}`); });
  page.on("pageerror", (e) => wrong.push(`${at()}: ${e.message}`));
  page.on("request", (r) => { if (!r.url().startsWith(base) && !r.url().startsWith("data:")) wrong.push(`${at()}: asks for ${r.url()}`); });
  page.on("response", (r) => { if (r.status() >= 400) wrong.push(`${at()}: ${r.status()} for ${r.url()}`); });
  return page;
}

const measure = (page) => page.evaluate(() => {
  const article = document.querySelector("article");
  return { height: article.getBoundingClientRect().height, wide: document.documentElement.scrollWidth, pictures: article.querySelectorAll("img").length };
});

const page = await open();
for (const row of pages) {
  await page.setViewportSize(DESKTOP);
  await page.goto(`${origin}/${row.html}`, { waitUntil: "load", timeout: 300000 });
  for (const [name, window] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
    await page.setViewportSize(window);
    const { height, wide, pictures } = await measure(page);
    row[name] = height / window.height;
    row.pictures = pictures;
    if (wide > window.width) wrong.push(`${row.file}: is ${wide} pixels wide in a window of ${window.width}`);
  }
}

const front = pages.filter((p) => p.front);
const sum = (of) => front.reduce((all, p) => all + of(p), 0);
console.log("section          page                                            words  pictures  screens  on a phone");
for (const p of front) {
  const late = p.desktop > MOST_SCREENS ? " <- long" : "", bare = p.pictures ? "" : " <- no picture";
  console.log((p.section || "nowhere").padEnd(16), p.file.padEnd(44), String(p.words).padStart(8), String(p.pictures).padStart(9), p.desktop.toFixed(1).padStart(8), p.phone.toFixed(1).padStart(11) + late + bare);
  if (p.desktop > (LONGER[p.file] ?? MOST_SCREENS)) wrong.push(`${p.file}: is ${p.desktop.toFixed(2)} screens long; at most ${MOST_SCREENS}`);
  if (bare && !BARE.includes(p.file)) wrong.push(`${p.file}: has no picture`);
}
const words = sum((p) => p.words);
console.log(`${front.length} front pages: ${words} words, ${sum((p) => p.pictures)} pictures on ${front.filter((p) => p.pictures).length} pages, ${sum((p) => p.desktop).toFixed(0)} screens, ${sum((p) => p.phone).toFixed(0)} on a phone`);
if (!measuring) {
  console.log(`${pages.length} pages in all: ${pages.reduce((all, p) => all + p.words, 0)} words, ${pages.reduce((all, p) => all + p.pictures, 0)} pictures`);
  if (words > MOST_WORDS) wrong.push(`front pages have ${words} words; at most ${MOST_WORDS}`);

  // The search finds a word, on the page about it first.
  await page.goto(`${origin}/search.html?q=deadline`);
  await page.waitForSelector("#search-results li a", { timeout: 300000 });
  const found = await page.$$eval("#search-results li a", (all) => all.map((a) => a.getAttribute("href")));
  if (!found.slice(0, 5).some((href) => href.startsWith("this-job-must-be-done-by-six.html"))) wrong.push(`searching "deadline" finds ${found.slice(0, 5).join(", ")}`);
  // The site opens from disk too.
  const disk = pathToFileURL(join(site, "index.html")).href;
  await (await open(disk.slice(0, -"/index.html".length))).goto(disk);
}

await browser.close();
server.close();
for (const line of wrong) console.error(line);
process.exit(wrong.length ? 1 : 0);
