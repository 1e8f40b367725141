// Builds dist/charts.js, copies the licences of what is in it and writes its SHA-256, which a Go test compares.
//
//   npm ci && npm run build
//
// The result is committed, so that a plain `go install` gives a program that can write reports.
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const version = (name) => JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8")).version;
const comment = (text) => text.trim().split("\n").map((line) => ` * ${line}`.trimEnd()).join("\n");

// The notices travel inside the bundle too, because a report carries a copy of it wherever it is sent.
const banner = `/*!
 * Apache ECharts ${version("echarts")} (a part of it), Apache-2.0, https://www.apache.org/licenses/LICENSE-2.0
${comment(readFileSync("node_modules/echarts/NOTICE", "utf8"))}
 *
 * zrender ${version("zrender")}:
${comment(readFileSync("node_modules/zrender/LICENSE", "utf8"))}
 *
 * Some functions of ECharts come from d3:
${comment(readFileSync("node_modules/echarts/licenses/LICENSE-d3", "utf8"))}
 */`;

mkdirSync("dist", { recursive: true });
const built = await build({
  entryPoints: ["entry.js"],
  bundle: true,
  minify: true,
  charset: "ascii",
  format: "iife",
  globalName: "yardCharts",
  target: ["es2020"],
  define: { "process.env.NODE_ENV": '"production"' },
  legalComments: "none",
  banner: { js: banner },
  write: false,
});
// The script is put inside a <script> element: nothing in it may end that element or open a comment in it.
const code = built.outputFiles[0].text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
writeFileSync("dist/charts.js", code);
writeFileSync("dist/charts.js.sha256", `${createHash("sha256").update(code).digest("hex")}  charts.js\n`);
copyFileSync("node_modules/echarts/LICENSE", "dist/LICENSE-echarts");
copyFileSync("node_modules/echarts/NOTICE", "dist/NOTICE-echarts");
copyFileSync("node_modules/zrender/LICENSE", "dist/LICENSE-zrender");
copyFileSync("node_modules/echarts/licenses/LICENSE-d3", "dist/LICENSE-d3");
copyFileSync("node_modules/tslib/LICENSE.txt", "dist/LICENSE-tslib");
console.log(`dist/charts.js: ${(code.length / 1024).toFixed(0)} KiB`);
