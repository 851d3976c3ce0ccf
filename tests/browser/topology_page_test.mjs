// The report of a cluster in a real browser. ORRERY names the program; the working folder is the project's.
import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { browser, complete, count, folder, open, text } from "./page.mjs";

const scenario = "scenarios/gpt3-175b-superpod-a100.json";

test("a SuperPOD: its units, rails and groups, one unit opened", async () => {
  const file = await open("superpod", "topology", scenario);
  assert.ok(statSync(file).size < 1_500_000);
  await complete(1);
  assert.match(await text("#verdict"), /^It holds together: 1\.00 : 1 over its bisection/);
  const drawing = await text("#how-it-is-built svg");
  for (const words of ["a node, one of 20", "5 more", "10 spinesrail 7", "14 cores", "8 NICs"]) assert.ok(drawing.includes(words), `${words} in ${drawing}`);
  assert.ok((await count("#how-it-is-built svg line")) > 40);
  assert.equal(await browser.run('return [...document.querySelectorAll("svg *")].some((each) => [...each.attributes].some((one) => /NaN|undefined/.test(one.value)))'), false);
  assert.ok(!/NaN|undefined/.test(drawing), drawing);
  assert.equal(await count("#routes tbody tr"), 4);
  assert.equal(await count("#how-far-nodes-are-apart tbody tr"), 2);
});

for (const fabric of ["torus", "tofu", "dragonfly", "dragonfly-plus", "hyperx", "full-mesh", "star", "rail-only"])
  test(`a ${fabric} is drawn`, async () => {
    await open(fabric, "topology", scenario, "--set", "cluster.preset=dgx-a100", "--set", "cluster.nodes=24", "--set", `cluster.fabric=${fabric}`);
    await complete(1);
    const drawing = await text("#how-it-is-built svg");
    assert.ok(!/NaN|undefined/.test(drawing), drawing);
    assert.match(drawing, /a unit/);
  });

test("one node has no network to draw", async () => {
  await open("one", "topology", "scenarios/gpt-tiny-cpu.json");
  assert.match(await text("#verdict"), /one node, without a network/);
  assert.equal(await count("#how-it-is-built"), 0);
  assert.deepEqual(await browser.complaints(), []);
});

test("dark, a phone, and a drawing that stays readable", async () => {
  await open("again", "topology", scenario);
  const stroke = () => browser.run('return document.querySelector("#how-it-is-built rect").getAttribute("stroke")');
  const light = await stroke();
  await browser.run('document.querySelector("header button").click()');
  assert.notEqual(await stroke(), light, "drawn again in the other theme");
  await browser.resize(500, 900);
  await browser.until("document.documentElement.scrollWidth <= innerWidth", "no wider than a phone");
  assert.ok(await browser.run('return document.querySelector("#how-it-is-built svg").clientWidth >= 760'));
  await browser.resize(1400, 1000);
});

test("a hostile name of a file is text", async () => {
  const good = join(folder, "<img src=x onerror=alert(1)>.json");
  writeFileSync(good, JSON.stringify({ cluster: { preset: "ethernet", nodes: 2 } }));
  await open("hostile", "topology", good);
  assert.match(await text("pre"), /<img src=x onerror=alert\(1\)>/);
  assert.equal(await count("img"), 0);
  assert.deepEqual(await browser.complaints(), []);
});
