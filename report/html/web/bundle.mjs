// Makes the page of the reports: template, style and scripts in one file, in which a report fills title and data.
//   node bundle.mjs FOLDER_OF_NODE_MODULES OUTPUT
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [modules, output] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const esbuild = createRequire(join(modules, "package.json"))("esbuild");
const options = { bundle: true, minify: true, write: false, target: "es2022", legalComments: "none", nodePaths: [join(modules, "node_modules")] };
const build = (entry) => esbuild.buildSync({ ...options, entryPoints: [join(here, entry)] }).outputFiles[0].text;

const banner = "/* With Apache ECharts and zrender: Apache-2.0, BSD-3-Clause. */";
const parts = { style: build("style.css"), script: banner + build("src/main.js").replaceAll("</script", "<\\/script") };
const page = readFileSync(join(here, "page.html"), "utf8").replace(/@(style|script)@/g, (_, name) => parts[name]);
writeFileSync(output, page);
