// How the plan scales: the same work per replica on fewer and more GPUs.
import { card, chart } from "../card.js";
import { lines } from "../charts.js";
import { percent, seconds } from "../format.js";

export function scaling({ scaling: points, report }) {
  if (!points || points.length < 2) return null;
  const here = points.find((point) => point.gpus === report.provenance.gpus);
  const option = () => lines({
    x: "GPUs", y: "scale factor", sets: [{ name: "this plan", points: points.map((point) => [point.gpus, point.scale_factor]) }],
    xAxis: { type: "log", logBase: 2, min: "dataMin", max: "dataMax" }, yAxis: { scale: true, max: (range) => Math.max(1, range.max) },
    value: (value) => value.toFixed(3), marks: here ? [{ xAxis: here.gpus, label: { formatter: "here" } }] : [],
  });
  return card({
    title: "Scale factor against GPUs", subtitle: "throughput per GPU against the smallest replica, as many samples per replica everywhere",
    content: chart(option, { height: 300, label: "Scale factor over GPUs" }),
    data: { columns: [{ title: "GPUs" }, { title: "step", format: seconds }, { title: "scale factor" }, { title: "MFU", format: percent }], rows: points.map((point) => [point.gpus, point.step_time_s, point.scale_factor, point.mfu]) },
  });
}
