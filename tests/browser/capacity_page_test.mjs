// The report of a capacity question in a real browser. ORRERY names the program; the working folder is the project's.
import assert from "node:assert/strict";
import { test } from "node:test";

import { browser, count, open, text } from "./page.mjs";

test("the candidate that answers, all of them, and what moves the answer", async () => {
  await open("capacity", "capacity", "scenarios/capacity/llama3-70b.json", "--no-cache");
  assert.match(await text("#verdict"), /^Take .* days, .* USD\.Asked: 2\.00 T tokens within .* What binds: /s);
  assert.equal(await count("#candidates tbody tr"), 3);
  assert.ok(await count(".chart canvas") >= 4);
  assert.deepEqual(await browser.complaints(), []);
});
