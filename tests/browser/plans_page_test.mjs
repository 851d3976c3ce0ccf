// The reports of a sweep and of a search in a real browser. ORRERY names the program; the working folder is the project's.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { test } from "node:test";

import { browser, complete, count, open, text } from "./page.mjs";

const scenario = "scenarios/gpt-1.7b-dgx-a100.json";

test("a sweep: every point, the best first, why others cannot be", async () => {
  await open("sweep", "sweep", scenario, "--vary", "gpus=8..64x2", "--vary", "strategy.tensor=1,2,3,4", "--vary", "training.micro_batch_size=1,2,4,8");
  await complete(4);
  assert.match(await text("#verdict"), /^Best: step .*64 points, 48 fit, 0 do not fit, 16 illegal\.$/s);
  assert.equal(await count("#plans tbody tr"), 48);
  assert.equal(await count("#not-legal tbody tr"), 16);
  await browser.run('const input = document.querySelector("#plans input"); input.value = "gpus=64 strategy.tensor=2"; input.dispatchEvent(new Event("input"))');
  assert.equal(await count("#plans tbody tr"), 4);
});

test("a row shows its plan, a second one stands beside it, a third takes the first one's place", async () => {
  const choose = (row) => browser.run(`document.querySelectorAll("#plans tbody tr")[${row}].click()`);
  await choose(0);
  assert.equal(await count("#side-by-side .pair > div"), 1);
  await choose(1);
  assert.equal(await count("#side-by-side .pair > div"), 2);
  await choose(2);
  assert.equal(await count("#side-by-side .pair > div"), 2);
  assert.deepEqual(await browser.complaints(), []);
});

test("a search: the best plans with the settings that lead to them", async () => {
  await open("search", "search", scenario, "--top", "30", "--set", "name=it's");
  await complete(3);
  assert.equal(await browser.run("return document.title"), "it's");
  assert.match(await text("#verdict"), /Proven: no other plan of this space is better\.$/);
  await browser.run('document.querySelectorAll("#plans tbody tr")[0].click()');
  assert.match(await text("#side-by-side pre"), /--set 'name=it'\\''s'.*--set strategy\./s);
});

test("thousands of plans stay small and are drawn", async () => {
  const file = await open("large", "sweep", scenario, "--vary", "seed=1..1000 +1", "--vary", "strategy.tensor=1,2,4", "--vary", "training.micro_batch_size=1,2");
  assert.ok(statSync(file).size < 2_000_000, `${statSync(file).size} bytes`);
  await complete(3);
  await browser.resize(500, 900);
  assert.ok(await browser.run("return document.documentElement.scrollWidth <= innerWidth"), "wider than a phone");
});
