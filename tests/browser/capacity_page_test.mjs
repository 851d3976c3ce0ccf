// The report of a capacity question in a real browser. ORRERY names the program; the working folder is the project's.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
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

const text = (selector) => browser.run(`return document.querySelector(${JSON.stringify(selector)}).textContent`);
const count = (selector) => browser.run(`return document.querySelectorAll(${JSON.stringify(selector)}).length`);

test("the candidate that answers, all of them, and what moves the answer", async () => {
  const file = join(folder, "capacity.html");
  execFileSync(process.env.ORRERY, ["capacity", "scenarios/capacity/llama3-70b.json", "--no-cache", "--html", file, "--quiet"]);
  await browser.open(file);
  await browser.until('document.documentElement.dataset.drawn === "true"', "drawn");
  assert.match(await text("#verdict"), /^Take .* days, .* USD\.Asked: 2\.00 T tokens within .* What binds: /s);
  assert.equal(await count("#candidates tbody tr"), 3);
  assert.ok(await count(".chart canvas") >= 4);
  assert.deepEqual(await browser.complaints(), []);
});
