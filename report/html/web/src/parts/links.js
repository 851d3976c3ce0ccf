// The cluster as it is built, level by level, and how much of each kind of link the step uses.
import { card, onRedraw } from "../card.js";
import { h, svg } from "../dom.js";
import { bytes, count, percent, perSecond } from "../format.js";
import { base, heat } from "../theme.js";

const box = { width: 150, height: 44, gap: 150 };

function colour(busy) {
  const stops = heat();
  return stops[Math.min(stops.length - 1, Math.floor(busy * stops.length))];
}

const drawnLevels = ["gpu", "nic", "leaf", "spine", "core", "router"];

const plural = { gpu: "GPUs", nic: "NICs", leaf: "leaf switches", spine: "spines", core: "core switches", router: "routers" };

/** Levels from left to right; a line for each kind of link in each direction, coloured by its fullest member. */
function drawing({ levels, links }) {
  const shown = levels.filter((level) => drawnLevels.includes(level.name));
  const at = new Map(shown.map((level, i) => [level.name, i]));
  const x = (i) => 8 + i * (box.width + box.gap);
  const width = x(shown.length - 1) + box.width + 8;
  const edges = links.filter((link) => at.has(link.from) && at.has(link.to) && at.get(link.from) !== at.get(link.to));
  const lines = edges.map((link) => {
    const [from, to] = [at.get(link.from), at.get(link.to)];
    const up = from < to;
    const y = up ? 68 : 108;
    const [left, right] = up ? [x(from) + box.width, x(to)] : [x(to) + box.width, x(from)];
    const text = (dy, words) => svg("text", { x: (left + right) / 2, y: y + dy, "text-anchor": "middle" }, words);
    return [
      svg("line", { x1: left, x2: right, y1: y, y2: y, stroke: colour(link.busiest), "stroke-width": 3 + 2 * Math.log10(link.links) }),
      text(up ? -9 : 18, `${up ? "→" : "←"} ${count(link.links)} × ${perSecond(link.bytes_per_second)}`),
      text(up ? -23 : 32, `busy ${percent(link.busiest, 2)}`),
    ];
  });
  const boxes = shown.map((level, i) => [
    svg("rect", { x: x(i), y: 66, width: box.width, height: box.height, rx: 6, fill: base().surface, stroke: base().text }),
    svg("text", { x: x(i) + box.width / 2, y: 86, "text-anchor": "middle" }, `${count(level.count)} ${plural[level.name]}`),
    svg("text", { x: x(i) + box.width / 2, y: 102, "text-anchor": "middle" }, level.name === "gpu" || level.name === "nic" ? `${level.each_node} a node` : ""),
  ]);
  return svg("svg", { viewBox: `0 0 ${width} 170`, width: "100%", style: "max-height:230px; min-width:720px", role: "img", "aria-label": "The cluster's levels and links" }, lines, boxes);
}

export function links({ network, report }) {
  if (!network) return null;
  const columns = [{ title: "from" }, { title: "to" }, { title: "number", format: count }, { title: "each", format: perSecond },
    { title: "bytes of the fullest", format: bytes }, { title: "busy, the fullest", format: percent }, { title: "busy, mean", format: percent }];
  const mean = (link) => link.bytes / link.links / (link.bytes_per_second * report.step_time_s);
  const rows = network.links.map((link) => [link.from, link.to, link.links, link.bytes_per_second, link.most_bytes, link.busiest, mean(link)]);
  const said = rows.length
    ? "busy is the share of a link's capacity that was used over the step, of the fullest of its kind; links that can never bind are not simulated"
    : "no link can bind: what moves stays inside nodes, or there is more than enough";
  const place = h("div", { class: "scroll" });
  const draw = () => place.replaceChildren(drawing(network));
  onRedraw(draw);
  return card({ title: "Links by load", width: "full", subtitle: `${network.cluster}: ${said}`, content: place, data: rows.length ? { columns, rows, sort: { column: 5, down: true } } : undefined });
}
