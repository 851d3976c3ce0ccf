// The step's kernels against what the GPU can do at most, and the points that were measured.
import { card, chart } from "../card.js";
import { axis, grid, legend, tooltip } from "../charts.js";
import { flops, percent, seconds } from "../format.js";
import { base, series } from "../theme.js";

const groups = [
  { name: "measured", has: (kernel) => !kernel.extrapolated && !kernel.derived },
  { name: "beyond the measured sizes", has: (kernel) => kernel.extrapolated && !kernel.derived },
  { name: "derived", has: (kernel) => Boolean(kernel.derived) },
];

export function roofline({ roofline: roof, kernels }) {
  if (!roof || kernels.length === 0) return null;
  const drawn = kernels.filter((kernel) => kernel.flops > 0 && kernel.bytes > 0 && kernel.seconds > 0);
  const point = (kernel) => [kernel.flops / kernel.bytes, kernel.flops / kernel.seconds];
  const xs = drawn.map((kernel) => point(kernel)[0]);
  const ends = [Math.min(0.1, ...xs), Math.max(1e4, ...xs)];
  const ridge = roof.flops_per_second / roof.bytes_per_second;
  const option = () => ({
    grid: grid({ left: 76, top: 50 }), legend: legend({ type: "plain" }), color: [series()[0], series()[1], series()[3], base().text],
    tooltip: tooltip({ formatter: ({ data }) => (data.text ? `${data.text}\n${flops(data.value[1])}, ${data.value[0].toFixed(1)} FLOP/B\n${percent(data.share)} of the step` : "") }),
    xAxis: axis("FLOP per byte", { type: "log", min: 10 ** Math.floor(Math.log10(ends[0])), max: 10 ** Math.ceil(Math.log10(ends[1])) }),
    yAxis: axis("", { type: "log", axisLabel: { color: base().text, formatter: flops } }),
    series: [
      ...groups.map((group) => ({
        name: group.name, type: "scatter", symbolSize: (value, { data }) => 6 + 30 * Math.sqrt(data.share),
        data: drawn.filter(group.has).map((kernel) => ({ value: point(kernel), text: kernel.text, share: kernel.share })),
      })),
      { name: "datasheet", type: "line", symbol: "none", silent: true, lineStyle: { width: 1.5 }, color: base().text,
        data: [[ends[0], ends[0] * roof.bytes_per_second], [ridge, roof.flops_per_second], [ends[1], roof.flops_per_second]] },
    ],
  });
  return card({
    title: "Roofline", subtitle: `${roof.gpu}, ${roof.format}; a circle's area is the kernel's share of the step`, width: "half",
    content: chart(option, { height: 320, label: "Roofline of the step's kernels" }),
    data: { columns: [{ title: "kernel" }, { title: "FLOP per byte" }, { title: "rate", format: flops }], rows: drawn.map((kernel) => [kernel.text, ...point(kernel)]) },
  });
}

/** The most expensive kernels, and what each time rests on. */
export function kernels({ kernels: list, step_rank: rank }) {
  if (list.length === 0) return null;
  const columns = [{ title: "kernel" }, { title: "runs" }, { title: "each", format: seconds }, { title: "all", format: seconds }, { title: "share", format: percent }, { title: "from" }];
  const rows = list.map((kernel) => [kernel.text, kernel.count, kernel.seconds, kernel.seconds * kernel.count, kernel.share, kernel.derived ? `derived: ${kernel.derived}` : kernel.source]);
  return card({
    title: "Kernels", subtitle: `of rank ${rank}, the most expensive first`, width: "half",
    content: chart(() => bars(list.slice(0, 12)), { height: 320, label: "The most expensive kernels" }), data: { columns, rows, filter: true },
  });
}

const short = (text) => (text.length > 34 ? `${text.slice(0, 33)}…` : text);
const bars = (list) => ({
  grid: grid({ left: 230, top: 6, bottom: 28 }), tooltip: tooltip({ trigger: "axis", axisPointer: { type: "shadow" }, valueFormatter: percent }),
  xAxis: axis("", { type: "value", axisLabel: { color: base().text, formatter: (value) => percent(value, 2), hideOverlap: true } }),
  yAxis: axis("", { type: "category", inverse: true, data: list.map((kernel) => short(kernel.text)), axisLabel: { color: base().text, width: 220 } }),
  series: [{ type: "bar", color: series()[0], data: list.map((kernel) => kernel.share) }],
});
