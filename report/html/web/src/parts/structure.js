// A cluster as it is built: one unit of nodes opened, those alike counted, and above it the groups of switches.
import { card, onRedraw } from "../card.js";
import { h, svg } from "../dom.js";
import { bits, count, perSecond } from "../format.js";
import { base, series } from "../theme.js";

const width = 1240;
const left = 96;
const rowHeight = 104;
const box = { height: 46, width: 150 };

const plural = (word, number) => (number === 1 ? word : word === "leaf" ? "leaves" : word.endsWith("switch") ? `${word}es` : `${word}s`);
const some = (number, word) => `${count(number)} ${plural(word, number)}`;

/** "rail 0", "rails 0–3", "rails 0, 2"; nothing where there is only one rail. */
export function railsText(rails, all) {
  if (all <= 1 || rails.length === 0 || rails.length === all) return rails.length > 1 && rails.length === all ? "all rails" : "";
  const dense = rails.at(-1) - rails[0] === rails.length - 1;
  const text = rails.length === 1 ? String(rails[0]) : dense ? `${rails[0]}–${rails.at(-1)}` : rails.join(", ");
  return `${rails.length === 1 ? "rail" : "rails"} ${text}`;
}

const rail = (rails) => (rails.length === 1 ? series()[rails[0] % series().length] : base().text);
const stroke = (cables) => 1 + Math.min(5, 0.7 * Math.log2(Math.max(1, cables)));

const label = (x, y, text, extra = {}) => svg("text", { x, y, "text-anchor": "middle", ...extra }, text);
const rectangle = ({ x, y, w, height, fill = base().surface, edge = base().text, rx = 6, dash }) =>
  svg("rect", { x, y, width: w, height, rx, fill, stroke: edge, "stroke-dasharray": dash });
const line = (from, to, cables, colour, opacity = 0.75) =>
  svg("line", { x1: from.x, y1: from.y, x2: to.x, y2: to.y, stroke: colour, "stroke-width": stroke(cables), opacity },
    svg("title", {}, some(cables, "cable")));

/** A box that may stand for several: those behind it peep out. */
const stack = (place, number, parts) => [
  number > 2 && rectangle({ ...place, x: place.x + 8, y: place.y - 8 }),
  number > 1 && rectangle({ ...place, x: place.x + 4, y: place.y - 4 }),
  rectangle(place), parts,
];

/** Boxes side by side over [from, to]: their middles and their width. */
const spread = (number, from, to, most = box.width) => {
  const step = (to - from) / number;
  return { w: Math.min(most, step - 12), at: (i) => from + step * (i + 0.5) };
};

function group(each, x, y, w, layer, rails) {
  const name = each.count > 1 ? `${some(each.count, "group")}, ${count(each.switches)}` : some(each.switches, layer);
  return stack({ x: x - w / 2, y, w, height: box.height }, each.count, [
    label(x, y + 20, name), label(x, y + 36, railsText(each.rails, rails), { opacity: 0.8 })]);
}

const devices = (number, x, y, size, gap, colour) =>
  Array.from({ length: number }, (_, i) => rectangle({ x: x + i * (size + gap), y, w: size, height: size, rx: 2, fill: colour(i), edge: colour(i) }));

const names = { gpu: "GPU", nvswitch: "NVSwitch", pcie_switch: "PCIe switch", cpu: "CPU", nic: "NIC" };

/** One node: its GPUs and NICs as squares where they are few, its other parts in words. */
function node({ node: parts, chips }, x, y, w, nodes) {
  const squares = Math.max(parts.gpus, parts.nics);
  const size = Math.min(18, (w - 150) / squares - 4);
  const few = size >= 8 && !chips;
  const others = parts.parts.filter((part) => part.name !== "gpu" && part.name !== "nic");
  const words = [`${some(parts.gpus, "GPU")} ${parts.gpu}${parts.gpu_bytes_per_second ? `, ${perSecond(parts.gpu_bytes_per_second)} each way` : ""}`,
    ...(others.length ? [others.map((part) => some(part.count, names[part.name] ?? part.name)).join(", ")] : [])];
  const height = few ? 124 : 76;
  return stack({ x, y, w, height }, nodes, [
    svg("text", { x: x + 12, y: y + 20, "font-weight": "bold" }, nodes > 1 ? `a node, one of ${count(nodes)}` : chips ? "a chip" : "a node"),
    few && parts.nics > 0 && [svg("text", { x: x + 12, y: y + 46 }, some(parts.nics, "NIC")), devices(parts.nics, x + 120, y + 33, size, 4, (i) => rail([i]))],
    few && [svg("text", { x: x + 12, y: y + 70 }, some(parts.gpus, "GPU")), devices(parts.gpus, x + 120, y + 57, size, 4, () => base().text)],
    words.map((text, i) => svg("text", { x: x + 12, y: y + height - 10 - 16 * (words.length - 1 - i), opacity: 0.85 }, text)),
  ]);
}

const unitHeight = ({ chips }) => (chips ? 110 : 252);

/** The unit that is shown open: its switches, and one node of it. */
function opened(data, y, w) {
  const { switches, nodes, left_out: more } = data.opened;
  const { w: each, at } = spread(switches.length + (more ? 1 : 0), left + 12, left + w - 12, 96);
  const tops = switches.map((_, i) => ({ x: at(i), y: y + 14 }));
  const short = each < 62;
  const name = (one) => (one.rails.length === data.node.nics ? data.layer : railsText(one.rails, data.node.nics));
  const parts = [
    rectangle({ x: left, y, w, height: unitHeight(data), dash: "6 4", fill: "none" }),
    data.chips ? null : switches.map((one, i) => [
      rectangle({ x: at(i) - each / 2, y: y + 14, w: each, height: 40, edge: rail(one.rails) }),
      label(at(i), y + 38, short ? one.rails.join(",") : name(one)),
      line({ x: at(i), y: y + 54 }, { x: at(i), y: y + 76 }, nodes, rail(one.rails)),
    ]),
    more ? label(at(switches.length), y + 38, `+ ${count(more)}`) : null,
    data.chips ? null : svg("text", { x: left + 12, y: y + 92, opacity: 0.85 }, `${short ? `${plural(data.layer, 2)} by rail; ` : ""}each node: ${some(data.node.nics, "NIC")} of ${bits(data.node.nic_bytes_per_second)}`),
    node(data, left + 16, y + (data.chips ? 16 : 112), w - 44, nodes),
  ];
  return { tops, parts };
}

/** Units that are like each other, as one box each. */
function closed(data, y, from) {
  const rest = data.units.slice(1);
  if (rest.length === 0) return { tops: [], parts: [] };
  const { w, at } = spread(rest.length, from, width - 8, 190);
  const parts = rest.map((unit, i) => stack({ x: at(i) - w / 2, y: y + 8, w, height: 92 }, unit.count, [
    label(at(i), y + 36, `${count(unit.count)} more`, { "font-weight": "bold" }),
    label(at(i), y + 56, unit.nodes === null ? "of other sizes" : `${some(unit.nodes, data.chips ? "chip" : "node")}${unit.count > 1 ? " each" : ""}`),
    label(at(i), y + 74, unit.switches === null || data.chips ? "" : some(unit.switches, data.layer))]));
  return { tops: rest.map((_, i) => ({ x: at(i), y: y + 8 })), parts };
}

/** What a switch is joined to beside it: of fabrics without layers. */
function neighbours(data, y, top) {
  const beside = data.opened.switches[0]?.beside ?? [];
  if (data.rows.length || beside.length === 0) return null;
  const { w, at } = spread(beside.length, left, width - 8, 250);
  return beside.map((each, i) => [
    line({ x: at(i), y: y + box.height }, top, each.neighbours * each.cables, series()[i % series().length]),
    rectangle({ x: at(i) - w / 2, y, w, height: box.height, edge: series()[i % series().length] }),
    label(at(i), y + 20, `${some(each.neighbours, "neighbour")}${each.metres ? ` at ${each.metres} m` : ""}`),
    label(at(i), y + 36, `each ${each.cables > 1 ? `${each.cables} × ` : ""}${bits(each.bytes_per_second)}`)]);
}

function drawing(data) {
  const flat = data.rows.length === 0;
  const layers = flat ? (data.opened.switches[0]?.beside.length ? 1 : 0) : data.rows.length;
  const y = (row) => 22 + (layers - 1 - row) * rowHeight;
  const units = 30 + layers * rowHeight;
  const openWidth = data.units.length > 1 ? 560 : width - left - 8;
  const open = opened(data, units, openWidth);
  const others = closed(data, units, left + openWidth + 20);
  const lines = [], boxes = [];
  const places = data.rows.map((row) => spread(row.groups.length, left, width - 8));
  const bottom = (row, i) => ({ x: places[row].at(i), y: y(row) + box.height });
  data.rows.forEach((row, r) => row.groups.forEach((each, i) => {
    boxes.push(group(each, places[r].at(i), y(r), places[r].w, row.layer, data.node.nics));
    for (const [below, cables] of each.below) {
      if (r > 0) lines.push(line({ x: places[r - 1].at(below), y: y(r - 1) }, bottom(r, i), cables, rail(each.rails)));
      else if (below > 0) lines.push(line(others.tops[below - 1], bottom(0, i), cables, rail(each.rails), 0.5));
    }
  }));
  if (!flat) data.opened.switches.forEach((one, i) => one.up.forEach(([above, cables]) => lines.push(line(open.tops[i], bottom(0, above), cables, rail(one.rails)))));
  const captions = data.rows.map((row, r) => {
    const total = row.groups.reduce((sum, each) => sum + each.switches, 0);
    return [svg("text", { x: 4, y: y(r) + 20, "font-weight": "bold" }, count(total)), svg("text", { x: 4, y: y(r) + 36 }, plural(row.layer, total)),
      row.beside > 0 && svg("text", { x: left, y: y(r) - 6, opacity: 0.85 }, `joined among themselves by ${some(row.beside, "cable")}`)];
  });
  return svg("svg", { viewBox: `0 0 ${width} ${units + unitHeight(data) + 12}`, width: "100%", style: "min-width:760px", role: "img", "aria-label": "The cluster's units, switches and cables" },
    lines, captions, svg("text", { x: 4, y: units + 28, "font-weight": "bold" }, "a unit"), svg("text", { x: 4, y: units + 44 }, "opened"),
    svg("text", { x: 4, y: units + 76, "font-weight": "bold" }, count(data.switches)), svg("text", { x: 4, y: units + 92 }, `${plural(data.chips ? "chip" : data.layer, data.switches)} in all`),
    neighbours(data, y(0), { x: left + openWidth / 2, y: units }), open.parts, others.parts, boxes);
}

export function structure({ structure: data }) {
  if (!data) return null;
  const place = h("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "structure" });
  onRedraw(() => place.replaceChildren(drawing(data)));
  const columns = [{ title: "part" }, { title: "number" }, { title: "nodes or switches each" }, { title: "rails" }];
  const rows = [
    ...data.units.map((unit, i) => [i === 0 ? "unit, opened" : "unit", unit.count, unit.nodes, ""]),
    ...data.rows.flatMap((row) => row.groups.map((each) => [`group of ${plural(row.layer, 2)}`, each.count, each.switches / each.count, railsText(each.rails, data.node.nics)])),
  ];
  return card({ title: "How it is built", width: "full",
    subtitle: "a unit is the nodes that are cabled to the same switches; lines are as wide as they have cables, coloured by rail",
    content: place, data: { columns, rows } });
}
