// Many plans: those of a sweep's grid, or those that a search has found. A table first, then what they trade.
import { card, chart } from "../card.js";
import { h } from "../dom.js";
import { figure } from "../figure.js";
import { bytes, count, percent, rate, seconds } from "../format.js";
import { coordinates } from "../parts/coordinates.js";
import { front } from "../parts/front.js";
import { heatmap } from "../parts/heatmap.js";
import { growth } from "../parts/growth.js";
import { table } from "../table.js";

const outcomes = [
  { key: "gpus", title: "GPUs", format: count }, { key: "step_time_s", title: "step", format: seconds },
  { key: "wall_clock_s", title: "whole run", format: seconds }, { key: "tokens_per_s", title: "tokens/s", format: rate }, { key: "mfu", title: "MFU", format: percent },
  { key: "memory_needed_bytes", title: "memory", format: bytes }, { key: "memory_capacity_bytes", title: "capacity", format: bytes },
  { key: "bottleneck", title: "takes time" },
];

/** {keys, points: [{rank, values: {key: text}, set, ...outcome}], problems: [{values, problem}]} of the page's short rows. */
function read(data) {
  const values = (places) => Object.fromEntries(data.keys.map((key, i) => [key, data.choices[i][places[i]]]));
  const points = data.plans.map(([rank, places, numbers, set]) => {
    const outcome = Object.fromEntries(data.fields.map((field, i) => [field, numbers[i]]));
    return { ...outcome, bottleneck: data.texts[outcome.bottleneck], rank: rank || null, values: values(places), set: set?.split("\n") };
  });
  const problems = data.problems.map(([places, reason]) => ({ values: values(places), problem: data.reasons[reason] }));
  const differing = data.keys.filter((key, i) => data.choices[i].length > 1);
  return { keys: differing.length ? differing : data.keys.slice(0, 4), points, problems };
}

const value = (text) => {
  const number = Number(text);
  return text === "" || text === null || text === undefined || Number.isNaN(number) ? text ?? null : number;
};

/** Up to two plans side by side, each with the settings that lead to it. */
function comparison(keys) {
  const chosen = [];
  const place = h("div", { class: "pair" }, h("p", { class: "note" }, "Choose a row of the table; a second one is put beside it."));
  const shown = (point) => h("div", {}, h("table", {}, h("tbody", {},
    [...keys.map((key) => [key, String(point.values[key])]),
      ...outcomes.filter((each) => point[each.key] !== undefined).map((each) => [each.title, each.format ? each.format(point[each.key]) : point[each.key]])]
      .map(([name, text]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, text))))),
    point.set && h("pre", {}, point.set.map((each) => `--set ${each}`).join(" \\\n  ")));
  const choose = (point) => {
    chosen.push(point);
    if (chosen.length > 2) chosen.shift();
    place.replaceChildren(...chosen.map(shown));
  };
  return { place, choose };
}

function counts({ counts: numbers, proven, left_out }) {
  const words = Object.entries(numbers).map(([name, number]) => `${count(number)} ${name.replaceAll("_", " ")}`);
  const proof = proven === undefined ? "" : proven ? " Proven: no other plan of this space is better." : " Not proven: the limit of simulations was reached.";
  const rest = left_out ? ` The last ${count(left_out)} are not in this page.` : "";
  return `${words.join(", ")}.${proof}${rest}`;
}

function verdict(data, best) {
  const text = best ? `step ${seconds(best.step_time_s)}, ${rate(best.tokens_per_s)} tokens/s, MFU ${percent(best.mfu)} with ${Object.entries(best.values).filter(([, each]) => each !== "" && each !== null).slice(0, 8).map(([key, each]) => `${key} ${each}`).join(", ")}` : "none";
  return h("section", { class: best ? "card verdict" : "card verdict bad", id: "verdict" },
    h("p", {}, h("span", { class: "word" }, best ? "Best" : "Nothing fits"), `: ${text}.`), h("p", { class: "note" }, counts(data)));
}

export function plans(data) {
  const { keys, points, problems } = read(data);
  const fitting = points.filter((point) => point.fits !== false);
  const best = [...fitting].sort((a, b) => (a.rank ?? 1e18) - (b.rank ?? 1e18))[0];
  const { place, choose } = comparison(keys);
  const told = outcomes.filter((each) => points.some((point) => point[each.key]));
  const columns = [{ title: "rank" }, ...keys.map((title) => ({ title })), ...told, { title: "fits" }];
  const row = (point) => [point.rank ?? null, ...keys.map((key) => value(point.values[key])), ...told.map((each) => point[each.key] ?? null), point.fits === false ? "no" : "yes"];
  const rows = points.map(row);
  const byRow = new Map(rows.map((each, i) => [each, points[i]]));
  return [
    verdict(data, best),
    best && figure("Best step", seconds(best.step_time_s), "", `${count(best.gpus)} GPUs`),
    best && figure("Throughput", rate(best.tokens_per_s), "tokens/s"), best && figure("MFU", percent(best.mfu)),
    figure("Plans that fit", count(fitting.length), `of ${count(points.length + problems.length)} here`),
    card({ title: "Plans", width: "full", subtitle: "click on a heading to sort; filter by words, or by bounds such as mfu>0.4 fits=yes",
      content: [table(columns, rows, { filter: true, name: "plans", sort: { column: 0, down: false }, onRow: (each) => choose(byRow.get(each)) })] }),
    card({ title: "Side by side", width: "full", content: place }),
    front(points), growth(points), coordinates(keys, points), heatmap(keys, points),
    problems.length > 0 && card({ title: "Not legal", width: "full", subtitle: `${count(problems.length)} points`,
      content: table([...keys.map((title) => ({ title })), { title: "why not" }], problems.map((point) => [...keys.map((key) => value(point.values[key])), point.problem]), { filter: true, name: "not-legal" }) }),
    card({ title: "To make this page again", width: "half", content: h("pre", {}, data.command) }),
  ].filter(Boolean);
}
