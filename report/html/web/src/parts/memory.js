// Device memory over a step, by what it holds, against what there is.
import { card, chart } from "../card.js";
import { axis, grid, legend, tooltip } from "../charts.js";
import { bytes, gib, seconds } from "../format.js";
import { bad, base, ofKind } from "../theme.js";

export function memory({ memory, report }) {
  if (!memory) return null;
  const stage = report.memory_bytes[memory.stage];
  const kinds = memory.kinds.filter((kind) => kind.bytes.some((value) => value > 0));
  const option = () => ({
    grid: grid({ top: 40 }), legend: legend(), tooltip: tooltip({ trigger: "axis", valueFormatter: (value) => `${value.toFixed(2)} GiB` }),
    xAxis: axis("", { type: "value", max: report.step_time_s, axisLabel: { color: base().text, formatter: seconds, hideOverlap: true } }),
    yAxis: axis("GiB", { type: "value", nameGap: 36, max: Math.ceil(1.08 * gib(Math.max(stage.capacity, stage.peak))), axisLabel: { color: base().text, showMaxLabel: false } }),
    series: kinds.map((kind, at) => ({
      name: kind.name, type: "line", stack: "memory", step: "end", symbol: "none", lineStyle: { width: 0 }, areaStyle: { opacity: 0.9 }, color: ofKind(kind.name),
      data: memory.seconds.map((time, i) => [time, gib(kind.bytes[i])]),
      markLine: at > 0 ? undefined : { symbol: "none", silent: true, data: [{ yAxis: gib(stage.capacity), lineStyle: { color: bad(), type: "dashed" }, label: { formatter: "capacity", position: "insideEndTop", color: bad() } }] },
    })),
  });
  const columns = [{ title: "stage" }, ...["peak", "before_backward", "after_backward", "after_optimizer", "capacity"].map((title) => ({ title: title.replaceAll("_", " "), format: bytes })),
    ...memory.kinds.map((kind) => ({ title: `${kind.name} at peak`, format: bytes }))];
  return card({
    title: `Memory over the step, stage ${memory.stage}`, width: "twothirds",
    subtitle: `maxima: forward ${bytes(stage.before_backward)}, backward ${bytes(stage.after_backward)}, optimizer ${bytes(stage.after_optimizer)}`,
    content: chart(option, { height: 300, label: "Memory over time by kind" }),
    data: { columns, rows: report.memory_bytes.map((m) => [m.stage, m.peak, m.before_backward, m.after_backward, m.after_optimizer, m.capacity, ...memory.kinds.map((kind) => m.at_peak[kind.name])]) },
  });
}
