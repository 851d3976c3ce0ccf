// How far the predictions of each source lie from what was measured: the middle half of them, and the median.
import { card, chart } from "../card.js";
import { axis, grid, tooltip } from "../charts.js";
import { count, percent } from "../format.js";
import { base, series } from "../theme.js";

const quantile = (sorted, share) => {
  const at = (sorted.length - 1) * share, low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
};

export function errors(rows, sources) {
  const boxes = sources.map(({ source }) => {
    const list = rows.filter((row) => row.source === source).map((row) => row.error).sort((a, b) => a - b);
    return { source, rows: list.length, low: quantile(list, 0.25), middle: quantile(list, 0.5), high: quantile(list, 0.75) };
  }).reverse();
  const option = () => ({
    grid: grid({ left: 190 }),
    tooltip: tooltip({ formatter: ({ dataIndex: i }) => `${boxes[i].source}, ${count(boxes[i].rows)} rows\nhalf of them from ${percent(boxes[i].low)} to ${percent(boxes[i].high)}\nmedian ${percent(boxes[i].middle)}` }),
    xAxis: axis("predicted / measured − 1", { type: "value", axisLabel: { color: base().text, formatter: (value) => percent(value, 2) } }),
    yAxis: axis("", { type: "category", data: boxes.map((box) => box.source) }),
    series: [
      { type: "bar", stack: "half", silent: true, itemStyle: { color: "transparent" }, data: boxes.map((box) => (box.low > 0 || box.high < 0 ? (box.low > 0 ? box.low : box.high) : 0)) },
      { type: "bar", stack: "half", color: series()[0], data: boxes.map((box) => (box.low > 0 ? box.high - box.low : Math.max(box.high, 0))) },
      { type: "bar", stack: "half", color: series()[0], data: boxes.map((box) => (box.high < 0 ? box.low - box.high : Math.min(box.low, 0))) },
      { type: "scatter", symbol: "rect", symbolSize: [3, 14], color: base().strong, data: boxes.map((box) => box.middle) },
    ],
  });
  return card({ title: "Error by source", subtitle: "bars: the middle half of a source's rows; marks: their median", width: "half",
    content: chart(option, { height: 420, label: "Signed error of each source" }),
    data: { columns: [{ title: "source" }, { title: "rows" }, { title: "a quarter below", format: percent }, { title: "median", format: percent }, { title: "a quarter above", format: percent }], rows: boxes.map((box) => [box.source, box.rows, box.low, box.middle, box.high]) } });
}
