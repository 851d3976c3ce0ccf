// How one candidate's answer moves with each input: the widest first.
import { card, chart } from "../card.js";
import { axis, grid, tooltip } from "../charts.js";
import { base, series } from "../theme.js";

/** swings: [{input, range: [at its lower end, at its upper]}]; middle: the answer as asked. */
export function tornado({ title, subtitle, unit, swings, middle, format }) {
  const shown = [...swings].sort((a, b) => Math.abs(a.range[1] - a.range[0]) - Math.abs(b.range[1] - b.range[0]));
  if (shown.length === 0) return null;
  const bar = (end) => shown.map((swing) => swing.range[end] - middle);
  const option = () => ({
    grid: grid({ left: 210 }),
    tooltip: tooltip({ formatter: ({ dataIndex: i }) => `${shown[i].input}\n${format(shown[i].range[0])} to ${format(shown[i].range[1])}` }),
    xAxis: axis(unit, { type: "value", axisLabel: { color: base().text, formatter: (value) => format(value + middle), hideOverlap: true } }),
    yAxis: axis("", { type: "category", data: shown.map((swing) => swing.input), axisLabel: { color: base().text, width: 190, overflow: "truncate" } }),
    series: [0, 1].map((end) => ({ type: "bar", stack: "swing", name: end ? "upper end" : "lower end", color: series()[end], data: bar(end) })),
  });
  return card({ title, subtitle, width: "half", content: chart(option, { height: 80 + 44 * shown.length, label: title }),
    data: { columns: [{ title: "input" }, { title: "at its lower end", format }, { title: "at its upper end", format }], rows: [...shown].reverse().map((swing) => [swing.input, ...swing.range]) } });
}
