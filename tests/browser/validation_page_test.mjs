// The report of published measurements in a real browser. ORRERY names the program; the working folder is the project's.
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { browser, count, folder, open, text } from "./page.mjs";

test("steps, errors by source, and what was skipped", async () => {
  const file = await open("papers", "validate", "scenarios/validation/megatron_papers.json", "scenarios/validation/bigscience_more.json");
  assert.ok(statSync(file).size < 2_000_000);
  assert.match(await text("#verdict"), /in the mean of the sources' medians: \d+ of \d+ steps lie within 10%/);
  assert.equal(await count(".chart canvas"), 2);
  const rows = await count("#steps tbody tr");
  assert.ok(rows > 50, `${rows} rows`);
  assert.ok(await count("#not-predicted tbody tr") > 3);
  await browser.run('const input = document.querySelector("#steps input"); input.value = "bigscience_more"; input.dispatchEvent(new Event("input"))');
  const filtered = await count("#steps tbody tr");
  assert.ok(filtered > 0 && filtered < rows, `${filtered} of ${rows}`);
  assert.deepEqual(await browser.complaints(), []);
  assert.equal(await browser.run('return performance.getEntriesByType("resource").filter((each) => !each.name.startsWith("blob:")).length'), 0);
});

test("names are shown as text alone", async () => {
  const hostile = '<img src=x onerror="document.title=1">';
  const rows = JSON.parse(readFileSync("scenarios/validation/megatron_papers.json", "utf8"));
  for (const row of rows.rows) row.id = `${hostile}${row.id}`;
  const file = join(folder, "rows.json");
  writeFileSync(file, JSON.stringify(rows));
  await open("hostile", "validate", file);
  assert.equal(await browser.run("return document.title"), "Predicted against measured");
  assert.equal(await count("#steps img"), 0);
  assert.match(await text("#steps"), /<img src=x/);
});
