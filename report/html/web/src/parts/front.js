// Step time against memory that is left: plans than which none is faster and leaves more.
import { card, chart } from "../card.js";
import { axis, grid, legend, tooltip } from "../charts.js";
import { gib, seconds } from "../format.js";
import { bad, base, series } from "../theme.js";

const left = (point) => gib(point.memory_capacity_bytes - point.memory_needed_bytes);

export function front(points) {
  if (points.length < 2) return null;
  const fitting = points.filter((point) => point.fits !== false);
  const ordered = [...fitting].sort((a, b) => a.step_time_s - b.step_time_s || left(b) - left(a));
  let most = -Infinity;
  const best = ordered.filter((point) => left(point) > most && ((most = left(point)), true));
  const on = new Set(best);
  const dot = (point) => ({ value: [point.step_time_s, left(point)], said: Object.entries(point.values).map(([key, value]) => `${key} ${value}`).join("\n") });
  const option = () => ({
    grid: grid({ left: 64 }), legend: legend({ type: "plain" }),
    tooltip: tooltip({ formatter: ({ data }) => `${seconds(data.value[0])}, ${data.value[1].toFixed(1)} GiB left\n${data.said}` }),
    xAxis: axis("step", { type: "log", min: "dataMin", max: "dataMax", axisLabel: { color: base().text, formatter: seconds, hideOverlap: true } }),
    yAxis: axis("GiB left", { type: "value", nameGap: 40 }),
    series: [
      { name: "does not fit", type: "scatter", symbolSize: 6, color: bad(), data: points.filter((point) => point.fits === false).map(dot) },
      { name: "fits", type: "scatter", symbolSize: 6, color: base().text, itemStyle: { opacity: 0.5 }, data: fitting.filter((point) => !on.has(point)).map(dot) },
      { name: "front", type: "line", symbolSize: 9, color: series()[0], data: best.map(dot) },
    ],
  });
  return card({ title: "Speed against memory left", subtitle: "on the front no plan is faster and leaves more", width: "half",
    content: chart(option, { height: 340, label: "Pareto front of step time and memory left" }),
    data: { columns: [{ title: "plan" }, { title: "step", format: seconds }, { title: "GiB left" }], rows: best.map((point) => [Object.entries(point.values).map(([key, value]) => `${key}=${value}`).join(" "), point.step_time_s, left(point)]) } });
}
