// What the tests of one file share: a browser, a folder that goes with it, and a page that the program has made.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before } from "node:test";

import { Browser } from "./driver.mjs";

export const folder = mkdtempSync(join(tmpdir(), "orrery-browser-"));
export let browser;
before(async () => { browser = await Browser.start(); });
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** The file of a page that the program makes. ORRERY names the program. */
export function made(name, ...words) {
  const file = join(folder, `${name}.html`);
  execFileSync(process.env.ORRERY, [...words, "--html", file, ...(words[0] === "calibrate" ? [] : ["--quiet"])]);
  return file;
}

/** Shows a file, until it has been drawn, and says how long that took: a number to read, on which no test hangs. */
export async function show(file) {
  await browser.open(file);
  await browser.until('performance.getEntriesByName("shown").length > 0', "drawn");
  const ms = await browser.run('return performance.getEntriesByName("shown")[0].startTime');
  console.log(`${basename(file)}: ${(statSync(file).size / 1e6).toFixed(2)} MB, on the screen after ${(ms / 1000).toFixed(2)} s`);
  return file;
}

/** Both. */
export const open = (name, ...words) => show(made(name, ...words));

export const text = (selector) => browser.run(`return document.querySelector(${JSON.stringify(selector)}).textContent`);
export const count = (selector) => browser.run(`return document.querySelectorAll(${JSON.stringify(selector)}).length`);

/** Colours of every chart's canvas, four at most. */
export const drawn = `return [...document.querySelectorAll(".chart canvas")].map((canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length && seen.size < 4; i += 4) if (data[i + 3]) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  return seen.size;
})`;

/** At least so many charts, none of them blank; a page without complaints that asks for nothing. */
export async function complete(charts) {
  const colours = await browser.run(drawn);
  assert.ok(colours.length >= charts, `${colours.length} charts`);
  for (const number of colours) assert.ok(number >= 2, "a chart is blank");
  assert.deepEqual(await browser.complaints(), []);
  assert.equal(await browser.run('return performance.getEntriesByType("resource").filter((each) => !each.name.startsWith("blob:")).length'), 0);
}
