// The cluster as it is built, level by level, and how much of each kind of link the step uses.
import { card } from "../card.js";
import { h, svg } from "../dom.js";
import { bytes, count, percent, perSecond } from "../format.js";
import { base, heat } from "../theme.js";

const box = { width: 150, height: 44, gap: 150 };

function colour(busy) {
  const stops = heat();
  return stops[Math.min(stops.length - 1, Math.floor(busy * stops.length))];
}

/** Levels from left to right, edges between them as thick as many links, coloured by their busiest member. */
function drawing({ levels, links }) {
  const at = new Map(levels.map((level, i) => [level.name, i]));
  const x = (i) => 8 + i * (box.width + box.gap);
  const height = 190;
  const edges = links.filter((link) => at.has(link.from) && at.has(link.to) && at.get(link.from) !== at.get(link.to));
  const width = x(levels.length - 1) + box.width + 8;
  const lines = edges.map((link) => {
    const [from, to] = [at.get(link.from), at.get(link.to)];
    const y = from < to ? 68 : 108;
    const [left, right] = from < to ? [x(from) + box.width, x(to)] : [x(to) + box.width, x(from)];
    return [
      svg("line", { x1: left, x2: right, y1: y, y2: y, stroke: colour(link.busiest), "stroke-width": 3 + 2 * Math.log10(link.links) }, svg("title", {}, link.name)),
      svg("text", { x: (left + right) / 2, y: from < to ? y - 9 : y + 18, "text-anchor": "middle" }, `${from < to ? "→" : "←"} ${count(link.links)} × ${perSecond(link.bytes_per_second)}`),
      svg("text", { x: (left + right) / 2, y: from < to ? y - 23 : y + 32, "text-anchor": "middle" }, `busy ${percent(link.busiest, 2)}`),
    ];
  });
  const boxes = levels.map((level, i) => [
    svg("rect", { x: x(i), y: 66, width: box.width, height: box.height, rx: 6, fill: base().surface, stroke: base().text }),
    svg("text", { x: x(i) + box.width / 2, y: 86, "text-anchor": "middle" }, `${count(level.count)} ${level.title}`),
    svg("text", { x: x(i) + box.width / 2, y: 102, "text-anchor": "middle" }, level.detail ?? ""),
  ]);
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width: "100%", style: "max-height:260px", role: "img", "aria-label": "The cluster's levels and links" }, lines, boxes);
}

export function links({ network }) {
  if (!network || network.links.length === 0) return null;
  const columns = [{ title: "links" }, { title: "from" }, { title: "to" }, { title: "number", format: count }, { title: "each", format: perSecond },
    { title: "bytes, the fullest", format: bytes }, { title: "busy, the fullest", format: percent }, { title: "busy, mean", format: percent }];
  const rows = network.links.map((link) => [link.name, link.from, link.to, link.links, link.bytes_per_second, link.most_bytes, link.busiest, link.mean]);
  return card({
    title: "Links by load", width: "full",
    subtitle: `${network.cluster}; busy is the share of a link's capacity that was used over the step, of the fullest link of its kind`,
    content: h("div", { class: "scroll" }, drawing(network)), data: { columns, rows, sort: { column: 6, down: true } },
  });
}
