// The report of a comparison in a real browser. ORRERY names the program; the working folder is the project's.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { browser, complete, count, folder, open, text } from "./page.mjs";

const predicted = join(folder, "predicted.json");
execFileSync(process.env.ORRERY, ["simulate", "scenarios/gpt-tiny-cpu.json", "--operations", "--json", predicted, "--quiet"]);

/** A run in which every operation took `factor` as long as predicted. */
function measured(name, factor, change = (document) => document) {
  const document = JSON.parse(readFileSync(predicted, "utf8"));
  document.step_time_s *= factor;
  document.measured = { step_spread_s: 0.02 * document.step_time_s };
  for (const rank of document.operations?.ranks ?? [])
    for (const key of ["begin_s", "end_s"]) rank[key] = rank[key].map((time) => time * factor);
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(change(document)));
  return file;
}

test("within the tolerance: both timelines, every operation", async () => {
  await open("good", "compare", predicted, measured("slower", 1.05));
  await complete(4);
  assert.match(await text("#verdict"), /^Within the tolerance: .*−4\.76% against 10\.0% allowed/);
  assert.match(await text("#predicted-above-measured"), /rank 0 measured/);
  const rows = await count("#operations tbody tr");
  assert.ok(rows > 20, `${rows} operations`);
  await browser.run('const input = document.querySelector("#operations input"); input.value = "kind=gemm"; input.dispatchEvent(new Event("input"))');
  const gemm = await count("#operations tbody tr");
  assert.ok(gemm > 0 && gemm < rows, `${gemm} of ${rows}`);
  for (const name of ["Zoom in", "Zoom in", "Every lane", "Whole step"])
    await browser.run('[...document.querySelectorAll("button")].find((each) => each.textContent === arguments[0]).click()', name);
  assert.deepEqual(await browser.complaints(), []);
});

test("outside of it, and without operations", async () => {
  const file = measured("without", 2, (document) => ({ ...document, operations: undefined }));
  await open("bad", "compare", predicted, file, "--tolerance", "60");
  assert.match(await text("#verdict"), /operations are not in both files/);
  assert.equal(await count("#predicted-above-measured"), 0);
  await complete(1);
});

test("names from files are text", async () => {
  const hostile = '</script><img src=x onerror="alert(1)">';
  const document = JSON.parse(readFileSync(predicted, "utf8"));
  document.scenario.name = hostile;
  document.operations.names = document.operations.names.map((name) => `${hostile}${name}`);
  const file = join(folder, "hostile.json");
  writeFileSync(file, JSON.stringify(document));
  await open("hostile", "compare", file, file);
  assert.equal(await browser.run("return document.title"), hostile);
  assert.match(await text("#operations"), /<img src=x/);
  assert.equal(await count("img"), 0);
  await browser.resize(500, 900);
  assert.ok(await browser.run("return document.documentElement.scrollWidth <= innerWidth"), "wider than a phone");
  await browser.resize(1400, 1000);
  assert.deepEqual(await browser.complaints(), []);
});
