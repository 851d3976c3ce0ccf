// The report of a collective in a real browser. ORRERY names the program; the working folder is the project's.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { browser, complete, count, folder, open, text } from "./page.mjs";

test("a large group: sizes, algorithms weighed, links", async () => {
  await open("large", "collective", "all_reduce", "--cluster", "superpod-a100", "--gpus", "1024", "--bytes", "1K..1G");
  await complete(3);
  assert.equal(await browser.run("return document.title"), "all_reduce on 1,024 GPUs");
  assert.match(await text("#verdict"), /tree LL from 1\.00 KiB to .*The profile has no measured sizes of just this group/s);
  assert.equal(await count("#sizes tbody tr"), 21);
  assert.equal(await count("#time-over-sizes tbody tr"), 21, "predicted alone");
  assert.ok((await count("#algorithms-that-were-weighed tbody tr")) > 60);
  assert.match(await text("#busiest-links"), /leaf/);
});

test("a node: measured points beside the prediction", async () => {
  await open("node", "collective", "all_reduce", "--cluster", "dgx-h100", "--gpus", "8", "--bytes", "1K..1G");
  await complete(2);
  assert.match(await text("#verdict"), /21 measured sizes of just this group: NVIDIA AIConfigurator/);
  assert.equal(await count("#time-over-sizes tbody tr"), 42);
  assert.equal(await count("#algorithms-that-were-weighed"), 0, "a table answers: nothing is weighed");
  await browser.resize(500, 900);
  assert.ok(await browser.run("return document.documentElement.scrollWidth <= innerWidth"), "wider than a phone");
  await browser.resize(1400, 1000);
});

test("one rank moves nothing, one size is a point", async () => {
  await open("alone", "collective", "all_reduce", "--cluster", "dgx-h100", "--gpus", "1", "--bytes", "1K..1M");
  assert.equal(await count(".chart"), 0);
  assert.deepEqual(await browser.complaints(), []);
  await open("one", "collective", "broadcast", "--cluster", "dgx-h100", "--gpus", "64", "--bytes", "1M");
  await complete(2);
});

test("a profile's hostile words are text", async () => {
  const profile = readFileSync("scenarios/profiles/h100.json", "utf8").replaceAll("nccl_one_node.csv", "<img src=x onerror=alert(1)>");
  const file = join(folder, "profile.json");
  writeFileSync(file, profile);
  await open("hostile", "collective", "all_reduce", "--cluster", "dgx-h100", "--gpus", "8", "--bytes", "1M", "--profile", file);
  assert.match(await text("#verdict"), /<img src=x/);
  assert.equal(await count("img"), 0);
  assert.deepEqual(await browser.complaints(), []);
});
