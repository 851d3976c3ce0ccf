// Ranges beside each other, one bar each, with the bound that they are asked to keep.
import { card, chart } from "../card.js";
import { axis, grid, tooltip } from "../charts.js";
import { bad, base, series } from "../theme.js";

/** sets: [{name, range: [low, high]}]. limit: a number or null; format: of the numbers. */
export function ranges({ title, subtitle, unit, sets, limit = null, limitName = "", format }) {
  if (sets.length === 0) return null;
  const shown = [...sets].reverse();
  const option = () => ({
    grid: grid({ left: 210 }),
    tooltip: tooltip({ formatter: ({ dataIndex: i }) => `${shown[i].name}\n${format(shown[i].range[0])} to ${format(shown[i].range[1])}` }),
    xAxis: axis(unit, { type: "value", min: 0, axisLabel: { color: base().text, formatter: format, hideOverlap: true } }),
    yAxis: axis("", { type: "category", data: shown.map((set) => set.name), axisLabel: { color: base().text, width: 190, overflow: "truncate" } }),
    series: [
      { type: "bar", stack: "range", silent: true, itemStyle: { color: "transparent" }, data: shown.map((set) => set.range[0]) },
      { type: "bar", stack: "range", color: series()[0], data: shown.map((set) => set.range[1] - set.range[0]),
        markLine: limit === null ? undefined : { symbol: "none", silent: true, lineStyle: { color: bad() }, label: { formatter: limitName, color: base().text }, data: [{ xAxis: limit }] } },
    ],
  });
  return card({ title, subtitle, width: "half", content: chart(option, { height: 80 + 44 * sets.length, label: title }),
    data: { columns: [{ title: "candidate" }, { title: "from", format }, { title: "to", format }], rows: sets.map((set) => [set.name, ...set.range]) } });
}
