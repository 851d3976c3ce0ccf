// What was measured and its prediction, both on logarithmic axes, with the line of equality and a tenth about it.
import { card, chart } from "../card.js";
import { axis, grid, legend, tooltip } from "../charts.js";
import { seconds } from "../format.js";
import { base, series } from "../theme.js";

/** rows: [{source, id, measured, predicted}], seconds; a colour for each source. */
export function agreement(rows, { title, subtitle, height = 420, size = 5, label, data }) {
  const ends = rows.flatMap((row) => [row.measured, row.predicted]);
  const [least, most] = [Math.min(...ends) / 1.5, Math.max(...ends) * 1.5];
  const sources = [...new Set(rows.map((row) => row.source))];
  const seconds_axis = (name) => axis(name, { type: "log", min: least, max: most, nameGap: name === "predicted" ? 52 : 28, axisLabel: { color: base().text, formatter: seconds, hideOverlap: true } });
  const line = (factor, type) => ({ type: "line", silent: true, symbol: "none", lineStyle: { color: base().text, width: 1, type }, data: [[least, least * factor], [most, most * factor]] });
  const option = () => ({
    grid: grid({ left: 72, top: 60 }), legend: legend(), color: series(),
    tooltip: tooltip({ formatter: ({ data: point }) => point.said ?? "" }),
    xAxis: seconds_axis("measured"), yAxis: seconds_axis("predicted"),
    series: [line(1, "solid"), line(1.1, "dashed"), line(1 / 1.1, "dashed"),
      ...sources.map((source) => ({
        name: source, type: "scatter", symbolSize: size, itemStyle: { opacity: 0.6 },
        data: rows.filter((row) => row.source === source).map((row) => ({ value: [row.measured, row.predicted], said: `${row.id}\n${seconds(row.measured)} measured, ${seconds(row.predicted)} predicted` })),
      }))],
  });
  return card({ title, subtitle, width: "half", content: chart(option, { height, label }), data });
}
