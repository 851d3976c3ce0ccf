// One collective by itself: how long it takes at every size, by which algorithm, and what was measured.
import { card } from "../card.js";
import { h } from "../dom.js";
import { figure } from "../figure.js";
import { bytes, count, percent, perSecond, plain, seconds } from "../format.js";
import { curves } from "../parts/curves.js";
import { table } from "../table.js";

const chosen = (row) => (row.protocol === "-" ? row.algorithm : `${row.algorithm} ${row.protocol}`);

/** Sizes from which on an algorithm is taken: [{name, from, to}]. */
function spans(rows) {
  const list = [];
  for (const row of rows) {
    const name = chosen(row);
    if (list.at(-1)?.name === name) list.at(-1).to = row.bytes;
    else list.push({ name, from: row.bytes, to: row.bytes });
  }
  return list;
}

const said = ({ name, from, to }) => (from === to ? `${name} at ${bytes(from)}` : `${name} from ${bytes(from)} to ${bytes(to)}`);

/** Of all rows: the time of each algorithm and protocol that was weighed. */
function weighed(rows) {
  const sets = new Map();
  for (const row of rows)
    for (const each of row.weighed) {
      const name = `${each.algorithm} ${each.protocol}`;
      if (!sets.has(name)) sets.set(name, []);
      sets.get(name).push([row.bytes, each.time_us * 1e-6]);
    }
  return [...sets].map(([name, points]) => ({ name, points, faint: true }));
}

function verdict({ rows }, measured) {
  const best = rows.reduce((most, row) => (row.busbw_GBps > most.busbw_GBps ? row : most));
  const last = rows.at(-1);
  const link = last.busiest_links[0];
  const held = measured ? `The profile has ${count(measured.points.length)} measured sizes of just this group: ${measured.origin}.` : "The profile has no measured sizes of just this group: times follow from the network's and the nodes' models.";
  return h("section", { class: "card verdict", id: "verdict" },
    h("p", {}, h("span", { class: "word" }, `${perSecond(best.busbw_GBps * 1e9)} bus bandwidth`), ` at most, with ${bytes(best.bytes)}; ${spans(rows).map(said).join(", ")}.`),
    h("p", { class: "note" }, `${link ? `At ${bytes(last.bytes)} ${link.link}${link.equally_busy > 1 ? ` and ${count(link.equally_busy - 1)} more` : ""} are busy for ${percent(link.utilisation)} of the time. ` : ""}${held}`));
}

export function collective(data) {
  const { table: answer } = data;
  const { rows } = answer;
  const same = (each) => each.gpus === answer.gpus && each.nodes === answer.nodes;
  const measured = answer.measured.find(same);
  const points = (value) => rows.filter((row) => row.time_us > 0).map((row) => [row.bytes, value(row), chosen(row)]);
  const dots = (value) => (measured ? [{ name: "measured", dots: true, points: measured.points.map((point) => [point.bytes, value(point)]) }] : []);
  const bandwidth = (point) => (point.bytes / (point.time_us * 1e-6)) * answer.bus_factor;
  const last = rows.at(-1), first = rows[0];
  const busy = rows.flatMap((row) => row.busiest_links.map((link) => [row.bytes, link.link, link.equally_busy, link.bytes, link.utilisation]));
  return [
    verdict(answer, measured),
    figure("Smallest", seconds(first.time_us * 1e-6), "", bytes(first.bytes)),
    figure("Largest", seconds(last.time_us * 1e-6), "", bytes(last.bytes)),
    figure("Algorithm bandwidth", perSecond(last.algbw_GBps * 1e9), "", `size over time, at ${bytes(last.bytes)}`),
    figure("Bus bandwidth", perSecond(last.busbw_GBps * 1e9), "", `times ${plain(answer.bus_factor)}, as nccl-tests has it`),
    curves({ title: "Time over sizes", x: "size", y: "time", format: { x: bytes, y: seconds }, sets: [{ name: "predicted", points: points((row) => row.time_us * 1e-6) }, ...dots((point) => point.time_us * 1e-6)] }),
    curves({ title: "Bus bandwidth over sizes", x: "size", y: "bus bandwidth", format: { x: bytes, y: perSecond }, sets: [{ name: "predicted", points: points((row) => row.busbw_GBps * 1e9) }, ...dots(bandwidth)] }),
    curves({ title: "Algorithms that were weighed", subtitle: "the quickest is taken", x: "size", y: "time", width: "full", format: { x: bytes, y: seconds }, sets: weighed(rows) }),
    card({ title: "Sizes", width: "full", content: table(
      [{ title: "size", format: bytes }, { title: "elements" }, { title: "time", format: seconds }, { title: "algbw", format: perSecond }, { title: "busbw", format: perSecond }, { title: "algorithm" }, { title: "why" }],
      rows.map((row) => [row.bytes, row.count, row.time_us * 1e-6, row.algbw_GBps * 1e9, row.busbw_GBps * 1e9, chosen(row), row.why]), { name: "sizes" }) }),
    busy.length > 0 && card({ title: "Busiest links", width: "half", subtitle: "share of their payload capacity, one of each kind of link",
      content: table([{ title: "size", format: bytes }, { title: "link" }, { title: "as busy" }, { title: "carries", format: bytes }, { title: "busy", format: percent }], busy, { name: "busiest-links" }) }),
    answer.measured.length > 0 && card({ title: "Measured in the profile", width: "half",
      content: table([{ title: "ranks" }, { title: "nodes" }, { title: "sizes" }, { title: "by" }], answer.measured.map((each) => [each.gpus, each.nodes, each.points.length, each.origin]), { name: "measured" }) }),
    card({ title: "To make this page again", width: "half", content: h("pre", {}, data.command) }),
  ].filter(Boolean);
}
