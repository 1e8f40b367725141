// node picture.mjs REPORT.html OUT.png [WIDTH] [light|dark]; see ../screenshot.sh.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { start } from "./browser.mjs";

const [file, out, width = "1400", theme = "light"] = process.argv.slice(2);
if (!file || !out || !(Number(width) >= 200) || !["light", "dark"].includes(theme)) {
  console.error("use: picture.mjs REPORT.html OUT.png [WIDTH] [light|dark]");
  process.exit(2);
}
const browser = await start();
try {
  const page = await browser.newPage({ viewport: { width: Number(width), height: 1000 }, colorScheme: theme, deviceScaleFactor: Number(process.env.SCALE || 1) });
  await page.goto(pathToFileURL(resolve(file)).href);
  await page.waitForTimeout(300);
  const height = Number(process.env.HEIGHT || 0); // of the part to capture; 0: the whole page
  const top = process.env.SECTION ? await page.evaluate((text) => {
    const heading = [...document.querySelectorAll("h2, h3")].find((h) => h.textContent.startsWith(text));
    return heading ? heading.getBoundingClientRect().top + scrollY - 12 : -1;
  }, process.env.SECTION) : 0; // where the screenshot begins
  if (top < 0) throw new Error(`no heading begins with "${process.env.SECTION}"`);
  if (process.env.SELECTOR) { // only that element, or HEIGHT pixels from its top on
    await page.addStyleTag({ content: "#theme { visibility: hidden }" });
    const box = await page.locator(process.env.SELECTOR).first().boundingBox();
    const clip = { x: Math.max(0, box.x - 12), y: box.y - 8, width: Math.min(Number(width), box.width + 24), height: Math.min(height, 1e6) || box.height + 16 };
    await page.screenshot({ path: out, fullPage: true, clip });
    await browser.close();
    process.exit(0);
  }
  const clip = { x: 0, y: top, width: Number(width), height };
  await page.screenshot(height > 0 ? { path: out, fullPage: true, clip } : { path: out, fullPage: true });
} finally {
  await browser.close();
}
