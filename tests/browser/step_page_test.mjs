// The report of one step in a real browser. ORRERY names the program; the working folder is the project's.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Browser } from "./driver.mjs";

const folder = mkdtempSync(join(tmpdir(), "orrery-browser-"));
let browser;
before(async () => { browser = await Browser.start(); });
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

function report(name, ...more) {
  const file = join(folder, `${name}.html`);
  execFileSync(process.env.ORRERY, ["simulate", ...more, "--html", file, "--quiet"]);
  return file;
}

async function open(file) {
  await browser.open(file);
  await browser.until('document.documentElement.dataset.drawn === "true"', "drawn");
}

/** Canvases with more than one colour. */
const drawn = `return [...document.querySelectorAll(".chart canvas")].map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length && seen.size < 4; i += 4) if (data[i + 3]) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  return seen.size;
})`;

const scenario = "scenarios/gpt3-175b-superpod-a100.json";

test("1,024 GPUs: small, drawn, silent, and alone", async () => {
  const file = report("gpt3", scenario);
  assert.ok(statSync(file).size < 2_000_000, `${statSync(file).size} bytes`);
  await open(file);
  const colours = await browser.run(drawn);
  assert.ok(colours.length >= 6, `${colours.length} charts`);
  for (const count of colours) assert.ok(count >= 2, "a chart is blank");
  assert.deepEqual(await browser.complaints(), []);
  assert.equal(await browser.run('return performance.getEntriesByType("resource").filter((each) => !each.name.startsWith("blob:")).length'), 0);
  assert.match(await browser.run('return document.getElementById("verdict").textContent'), /^Fits: .* of 80\.0 GiB/);
});

test("the timeline opens passes into layers", async () => {
  const press = (name) => browser.run(`[...document.querySelectorAll("button")].find((each) => each.textContent === arguments[0]).click()`, name);
  const height = () => browser.run('return document.querySelector("#timeline-of-one-step .chart").clientHeight');
  const before = await height();
  await press("Every lane");
  assert.ok((await height()) > before);
  await press("Every lane");
  assert.equal(await height(), before);
  for (let i = 0; i < 6; ++i) await press("Zoom in");
  await press("Whole step");
  assert.deepEqual(await browser.complaints(), []);
});

test("a table filters and sorts", async () => {
  const rows = () => browser.run('return document.querySelectorAll("#kernels tbody tr").length');
  const all = await rows();
  await browser.run(`const input = document.querySelector("#kernels input"); input.value = "gemm"; input.dispatchEvent(new Event("input"))`);
  const some = await rows();
  assert.ok(some > 0 && some < all, `${some} of ${all}`);
  await browser.run('document.querySelectorAll("#kernels th button")[1].click()');
  const runs = await browser.run('return [...document.querySelectorAll("#kernels tbody tr")].map((row) => Number(row.cells[1].textContent.replaceAll(",", "")))');
  assert.deepEqual(runs, [...runs].sort((a, b) => a - b));
});

test("dark, narrow, and again light", async () => {
  await browser.run('[...document.querySelectorAll("header button")][0].click()');
  assert.equal(await browser.run("return document.documentElement.dataset.theme"), "dark");
  await browser.resize(500, 900);
  assert.ok(await browser.run("return document.documentElement.scrollWidth <= innerWidth"), "wider than a phone");
  await browser.resize(1400, 1000);
  await browser.run('[...document.querySelectorAll("header button")][0].click()');
  assert.deepEqual(await browser.complaints(), []);
});

test("a hostile name is text", async () => {
  const text = readFileSync("scenarios/gpt-tiny-cpu.json", "utf8");
  const hostile = '</script><img src=x onerror="document.title=1"><!--=cmd()';
  const named = text.replace(/"name": *"[^"]*"/, `"name": ${JSON.stringify(hostile)}`);
  assert.notEqual(named, text);
  const source = join(folder, "hostile.json");
  writeFileSync(source, named);
  await open(report("hostile", source));
  assert.equal(await browser.run("return document.title"), hostile);
  assert.equal(await browser.run('return document.querySelectorAll("img").length'), 0);
  assert.deepEqual(await browser.complaints(), []);
});
