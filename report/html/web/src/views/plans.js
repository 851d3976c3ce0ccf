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
  { key: "tokens_per_s", title: "tokens/s", format: rate }, { key: "mfu", title: "MFU", format: percent },
  { key: "memory_peak_bytes", title: "memory", format: bytes }, { key: "memory_capacity_bytes", title: "capacity", format: bytes },
  { key: "bottleneck", title: "takes time" },
];

/** {keys, points: [{values: {key: text}, ...outcome}], problems: [{values, problem}]} of either document. */
function read(document) {
  if (document.points) {
    const keys = document.axes.map((axis) => axis.key);
    const named = document.points.map((point) => ({ ...point, values: Object.fromEntries(keys.map((key, i) => [key, point.values[i]])) }));
    return { keys, points: named.filter((point) => !point.problem), problems: named.filter((point) => point.problem) };
  }
  const seen = new Set(document.best.map((plan) => plan.plan));
  const plans = [...document.best, ...document.front.filter((plan) => !seen.has(plan.plan))]
    .map((plan, i) => ({ ...plan, rank: i < document.best.length ? i + 1 : null, values: { ...plan.site, ...plan.strategy, micro_batch_size: plan.micro_batch_size } }));
  const all = [...new Set(plans.flatMap((plan) => Object.keys(plan.values)))];
  const differing = all.filter((key) => new Set(plans.map((plan) => String(plan.values[key]))).size > 1);
  return { keys: differing.length ? differing : all.slice(0, 4), points: plans, problems: [] };
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

function counts({ counts: numbers, proven }) {
  const words = Object.entries(numbers).map(([name, number]) => `${count(number)} ${name.replaceAll("_", " ")}`);
  const proof = proven === undefined ? "" : proven ? " Proven: no other plan of this space is better." : " Not proven: the limit of simulations was reached.";
  return `${words.join(", ")}.${proof}`;
}

function verdict(document, best) {
  const text = best ? `step ${seconds(best.step_time_s)}, ${rate(best.tokens_per_s)} tokens/s, MFU ${percent(best.mfu)} with ${Object.entries(best.values).filter(([, each]) => each !== "" && each !== null).slice(0, 8).map(([key, each]) => `${key} ${each}`).join(", ")}` : "none";
  return h("section", { class: best ? "card verdict" : "card verdict bad", id: "verdict" },
    h("p", {}, h("span", { class: "word" }, best ? "Best" : "Nothing fits"), `: ${text}.`), h("p", { class: "note" }, counts(document)));
}

export function plans(data) {
  const { keys, points, problems } = read(data.document);
  const fitting = points.filter((point) => point.fits !== false);
  const best = [...fitting].sort((a, b) => (a.rank ?? 1e18) - (b.rank ?? 1e18))[0];
  const { place, choose } = comparison(keys);
  const columns = [{ title: "rank" }, ...keys.map((title) => ({ title })), ...outcomes, { title: "fits" }];
  const row = (point) => [point.rank ?? null, ...keys.map((key) => value(point.values[key])), ...outcomes.map((each) => point[each.key] ?? null), point.fits === false ? "no" : "yes"];
  const rows = points.map(row);
  const byRow = new Map(rows.map((each, i) => [each, points[i]]));
  return [
    verdict(data.document, best),
    best && figure("Best step", seconds(best.step_time_s), "", `${count(best.gpus)} GPUs`),
    best && figure("Throughput", rate(best.tokens_per_s), "tokens/s"), best && figure("MFU", percent(best.mfu)),
    figure("Plans that fit", count(fitting.length), `of ${count(points.length + problems.length)} here`),
    card({ title: "Plans", width: "full", subtitle: "click on a heading to sort; filter by words, or by bounds such as mfu>0.4 fits=yes",
      content: [table(columns, rows, { filter: true, name: "plans", sort: { column: 0, down: false }, onRow: (each) => choose(byRow.get(each)) })] }),
    card({ title: "Side by side", width: "full", content: place }),
    front(points), growth(points), coordinates(keys, points), heatmap(keys, points),
    problems.length > 0 && card({ title: "Not legal", width: "full", subtitle: `${count(problems.length)} points`,
      content: table([...keys.map((title) => ({ title })), { title: "why not" }], problems.map((point) => [...keys.map((key) => value(point.values[key])), point.problem]), { filter: true, name: "not-legal" }) }),
  ].filter(Boolean);
}
