// The report of a profile in a real browser. ORRERY names the program; the working folder is the project's.
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { browser, complete, count, folder, open, text } from "./page.mjs";

test("a shipped profile: roofline, what is derived, who measured", async () => {
  const file = await open("h100", "calibrate", "show", "h100");
  assert.ok(statSync(file).size < 2_000_000, `${statSync(file).size} bytes`);
  await complete(4);
  assert.match(await text("#verdict"), /^\d+ of \d+ kinds of kernel are measured: \d+ beyond the measured sizes, \d+ derived/);
  assert.match(await text("#what-answers-rest-on"), /attention backward from forward/);
  assert.match(await text("#coverage-and-provenance"), /NVIDIA AIConfigurator/);
  assert.match(await text("#constants"), /9\.894e14/);
  const rows = await count("#what-answers-rest-on tbody tr");
  await browser.run('const input = document.querySelector("#what-answers-rest-on input"); input.value = "rests_on=measured"; input.dispatchEvent(new Event("input"))');
  const measured = await count("#what-answers-rest-on tbody tr");
  assert.ok(measured > 0 && measured < rows, `${measured} of ${rows}`);
});

for (const name of ["cpu", "a100", "v100", "gb200"])
  test(`${name} is drawn`, async () => {
    await open(name, "calibrate", "show", name);
    await complete(2);
    await browser.resize(500, 900);
    assert.ok(await browser.run("return document.documentElement.scrollWidth <= innerWidth"), "wider than a phone");
    await browser.resize(1400, 1000);
  });

test("hostile words of a profile are text", async () => {
  const profile = readFileSync("scenarios/profiles/h100.json", "utf8").replaceAll("NVIDIA AIConfigurator", "=cmd()</script><img src=x onerror=alert(1)>");
  const file = join(folder, "hostile.json");
  writeFileSync(file, profile);
  await open("hostile", "calibrate", "show", file);
  assert.match(await text("#coverage-and-provenance"), /<img src=x/);
  assert.equal(await count("img"), 0);
  assert.deepEqual(await browser.complaints(), []);
});
