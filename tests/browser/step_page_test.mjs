// The report of one step in a real browser. ORRERY names the program; the working folder is the project's.
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { browser, complete, folder, made, show, text } from "./page.mjs";

const scenario = "scenarios/gpt3-175b-superpod-a100.json";

test("1,024 GPUs: small, drawn, silent, and alone", async () => {
  const file = made("gpt3", "simulate", scenario);
  assert.ok(statSync(file).size < 2_000_000, `${statSync(file).size} bytes`);
  await show(file);
  await complete(6);
  assert.match(await browser.run('return document.getElementById("verdict").textContent'), /^Fits: .* of 80\.0 GiB/);
  assert.match(await text(".figure"), /80%: [\d.]+ s to [\d.]+ s/, "the interval of the step");
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
  await show(made("hostile", "simulate", source));
  assert.equal(await browser.run("return document.title"), hostile);
  assert.equal(await browser.run('return document.querySelectorAll("img").length'), 0);
  assert.deepEqual(await browser.complaints(), []);
});
