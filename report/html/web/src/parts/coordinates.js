// Parallel coordinates: a line a plan, an axis a setting; the last axis is the step.
import { card, chart } from "../card.js";
import { base, heat, series } from "../theme.js";
import { seconds } from "../format.js";

const mostLines = 2000;

const numeric = (values) => values.every((value) => value !== "" && value !== null && !Number.isNaN(Number(value)));

export function coordinates(keys, points) {
  const fitting = points.filter((point) => point.fits !== false).slice(0, mostLines);
  if (fitting.length < 3 || keys.length < 2) return null;
  const axes = keys.slice(0, 10).map((key, dim) => {
    const values = [...new Set(fitting.map((point) => point.values[key] ?? ""))];
    return numeric(values) ? { dim, name: key, type: "value", scale: true } : { dim, name: key, type: "category", data: values.map(String) };
  });
  const line = (point) => [...axes.map((each, i) => (each.type === "value" ? Number(point.values[keys[i]]) : String(point.values[keys[i]] ?? ""))), point.step_time_s];
  const times = fitting.map((point) => point.step_time_s);
  const option = () => ({
    color: series(), parallel: { left: 60, right: 90, top: 60, bottom: 30, parallelAxisDefault: { nameTextStyle: { color: base().text }, nameRotate: 12, nameTruncate: { maxWidth: 120 }, axisLine: { lineStyle: { color: base().text } }, axisLabel: { color: base().text } } },
    parallelAxis: [...axes, { dim: axes.length, name: "step", type: "value", scale: true, inverse: true, axisLabel: { color: base().text, formatter: seconds } }],
    visualMap: { show: false, dimension: axes.length, min: Math.min(...times), max: Math.max(...times), inRange: { color: [...heat()].reverse() } },
    series: [{ type: "parallel", lineStyle: { width: 1.2, opacity: 0.5 }, progressive: 0, data: fitting.map(line) }],
  });
  return card({ title: "Settings and step", subtitle: "drag along an axis to choose a range; warm lines are fast", width: "half", content: chart(option, { height: 340, label: "Parallel coordinates of the plans" }) });
}
