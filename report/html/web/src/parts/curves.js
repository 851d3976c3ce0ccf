// Measured and predicted curves over sizes, on logarithmic axes; sizes in powers of two.
import { card, chart } from "../card.js";
import { axis, grid, legend, tooltip } from "../charts.js";
import { base, series } from "../theme.js";

/** sets: [{name, points: [[x, y, words?]], dots?, faint?, colour?}]: lines, or dots alone. format: {x, y} of numbers. */
export function curves({ title, subtitle, x, y, sets, format, height = 340, width = "half", data, y_axis = "log" }) {
  const drawn = sets.filter((set) => set.points.length > 0);
  if (drawn.length === 0) return null;
  const label = (f) => ({ color: base().text, formatter: f, hideOverlap: true });
  const option = () => ({
    grid: grid({ left: 78, top: drawn.length > 1 ? 46 : 16 }), legend: drawn.length > 1 ? legend() : undefined, color: series(),
    tooltip: tooltip({ formatter: ({ seriesName, data: point }) => `${seriesName}\n${format.x(point.value[0])}: ${format.y(point.value[1])}${point.words ? `\n${point.words}` : ""}` }),
    xAxis: axis(x, { type: "log", logBase: 2, min: "dataMin", max: "dataMax", axisLabel: label(format.x) }), yAxis: axis("", { type: y_axis, axisLabel: label(format.y) }),
    series: drawn.map((set) => ({
      name: set.name, type: set.dots ? "scatter" : "line", symbolSize: set.dots ? 6 : set.faint ? 3 : 7, color: set.colour,
      lineStyle: { width: set.faint ? 1 : 2, type: set.faint ? "dashed" : "solid" }, itemStyle: { opacity: set.faint ? 0.6 : 0.9 }, z: set.faint ? 2 : 3,
      data: set.points.map(([at, value, words]) => ({ value: [at, value], words })),
    })),
  });
  return card({ title, subtitle: [y, subtitle].filter(Boolean).join("; "), width, content: chart(option, { height, label: `${title}: ${y} over ${x}` }),
    data: data ?? { columns: [{ title: "curve" }, { title: x, format: format.x }, { title: y, format: format.y }], rows: drawn.flatMap((set) => set.points.map(([at, value]) => [set.name, at, value])) } });
}
