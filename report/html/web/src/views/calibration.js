// A profile: measured points under the roof, what answers rest on, who measured what, and how well it predicts.
import { card, chart } from "../card.js";
import { axis, grid, legend, tooltip } from "../charts.js";
import { h } from "../dom.js";
import { figure } from "../figure.js";
import { bytes, count, flops, percent, perSecond, seconds } from "../format.js";
import { curves } from "../parts/curves.js";
import { table } from "../table.js";
import { bad, base, good, series } from "../theme.js";

const states = ["measured", "beyond the measured sizes", "derived", "none"];

function verdict({ answers, coverage, errors }) {
  const of = (state) => answers.filter((each) => each.state === state).length;
  const worst = errors.length ? errors.reduce((most, each) => (each.median > most.median ? each : most)) : null;
  const points = coverage.reduce((sum, each) => sum + each.points, 0);
  return h("section", { class: "card verdict", id: "verdict" },
    h("p", {}, h("span", { class: "word" }, `${count(of("measured"))} of ${count(answers.length)} kinds of kernel are measured`), `: ${count(of("beyond the measured sizes"))} beyond the measured sizes, ${count(of("derived"))} derived${of("none") ? `, ${count(of("none"))} not known` : ""}.`),
    h("p", { class: "note" }, `${count(points)} points in ${count(coverage.length)} tables. Asked for a kernel of each kind, as a layer of 4,096 hidden units has it for 4,096 tokens.${worst ? ` Points kept aside are predicted within ${percent(worst.median)} in the median of the worst suite, ${worst.suite}.` : ""}`));
}

function roofline({ points: tables, roofs }) {
  const drawn = tables.filter((each) => each.points.length > 0);
  if (drawn.length === 0) return null;
  const xs = drawn.flatMap((each) => each.points.map((point) => point[0]));
  const ys = drawn.flatMap((each) => each.points.map((point) => point[1])).filter((value) => value > 0);
  const ends = [Math.min(1, ...xs), Math.max(1000, ...xs)];
  const floor = 10 ** Math.floor(Math.log10(Math.min(...ys, ends[0] * roofs.bytes_per_second)));
  const roof = ({ format, flops_per_second: peak }) => ({
    name: `peak, ${format}`, type: "line", symbol: "none", silent: true, color: base().text, lineStyle: { width: 1.2, type: format === "16 bits" ? "solid" : "dashed" },
    data: [[ends[0], ends[0] * roofs.bytes_per_second], [peak / roofs.bytes_per_second, peak], [ends[1], peak]].filter(([at]) => at <= ends[1]),
  });
  const option = () => ({
    grid: grid({ left: 86, top: 60 }), legend: legend(), color: series(),
    tooltip: tooltip({ formatter: ({ data }) => (data.words ? `${data.words}\n${flops(data.value[1])}, ${data.value[0].toFixed(1)} FLOP/B` : "") }),
    xAxis: axis("FLOP per byte", { type: "log", min: 10 ** Math.floor(Math.log10(ends[0])), max: 10 ** Math.ceil(Math.log10(ends[1])) }),
    yAxis: axis("", { type: "log", min: floor, axisLabel: { color: base().text, formatter: flops } }),
    series: [...drawn.map((each) => ({ name: each.table, type: "scatter", symbolSize: 4, itemStyle: { opacity: 0.55 }, large: false, data: each.points.map(([x, y, words]) => ({ value: [x, y], words })) })), ...roofs.peaks.filter((peak) => peak.flops_per_second > 0).map(roof)],
  });
  const left = drawn.filter((each) => each.left_out > 0).map((each) => `${count(each.left_out)} of ${each.table}`);
  return card({ title: "Roofline with measured points", width: "full", subtitle: `datasheet peaks over ${perSecond(roofs.bytes_per_second)} of memory${left.length ? `; evenly spaced points are drawn, without ${left.join(", ")}` : ""}`,
    content: chart(option, { height: 420, label: "Measured kernels under the roofline" }),
    data: { columns: [{ title: "table" }, { title: "kernel" }, { title: "FLOP per byte" }, { title: "rate", format: flops }], rows: drawn.flatMap((each) => each.points.map(([x, y, words]) => [each.table, words, x, y])), filter: true } });
}

const scientific = (value) => (value !== 0 && (value >= 1e6 || value < 1e-3) ? value.toExponential(3).replace("e+", "e") : String(value));
const busSets = (tables) => tables.map((each) => ({ name: `${each.kind}, ${each.ranks}${each.nodes > 1 ? ` on ${each.nodes} nodes` : ""}`, points: each.points }));

function answers(list) {
  const order = [...list].sort((a, b) => states.indexOf(b.state) - states.indexOf(a.state));
  return card({ title: "What answers rest on", width: "full", subtitle: "a kernel of each kind; the least known first",
    content: table([{ title: "kind" }, { title: "rests on" }, { title: "time", format: seconds }, { title: "asked for" }, { title: "from" }],
      order.map((each) => [each.kernel, each.state, each.seconds, each.example, each.from]), { filter: true, name: "answers" }) });
}

function errors(list) {
  if (list.length === 0) return null;
  const option = () => ({
    grid: grid({ left: 130, top: 34, bottom: 30 }), legend: legend(), color: [good(), bad()], tooltip: tooltip({ trigger: "axis", axisPointer: { type: "shadow" }, valueFormatter: (value) => percent(value) }),
    xAxis: axis("", { type: "value", axisLabel: { color: base().text, formatter: (value) => percent(value, 2) } }), yAxis: axis("", { type: "category", inverse: true, data: list.map((each) => each.suite) }),
    series: [{ name: "median", type: "bar", data: list.map((each) => each.median) }, { name: "nine of ten below", type: "bar", data: list.map((each) => each.p90) }],
  });
  return card({ title: "Error on points kept aside", width: "half", subtitle: "a fifth of the points, predicted from the others", content: chart(option, { height: 90 + 34 * list.length, label: "Held-out errors" }),
    data: { columns: [{ title: "suite" }, { title: "points" }, { title: "mean", format: percent }, { title: "median", format: percent }, { title: "nine of ten below", format: percent }, { title: "noise of the readings", format: percent }], rows: list.map((each) => [each.suite, each.points, each.mean, each.median, each.p90, each.noise]) } });
}

export function calibration(data) {
  const { coverage, bandwidths } = data;
  const origins = new Set(coverage.map((each) => each.origin));
  const peak = data.roofs.peaks.find((each) => each.format === "16 bits");
  return [
    verdict(data),
    figure("Peak, 16 bits", flops(peak.flops_per_second), "", "datasheet, dense"), figure("Memory", perSecond(data.roofs.bytes_per_second), "", "datasheet"),
    figure("Measured points", count(coverage.reduce((sum, each) => sum + each.points, 0)), "", `${count(coverage.length)} tables`),
    figure("Sources", count(origins.size), "", "who measured: below"),
    roofline(data),
    curves({ title: "Kernels that memory bounds", subtitle: "effective rate", x: "bytes moved", y: "bytes a second", format: { x: bytes, y: perSecond }, sets: bandwidths.kernels.map((each) => ({ name: each.table, points: each.points, dots: true })) }),
    curves({ title: "Collectives", subtitle: "by ranks", x: "size", y: "bus bandwidth", format: { x: bytes, y: perSecond }, sets: busSets(bandwidths.collectives) }),
    answers(data.answers),
    card({ title: "Coverage and provenance", width: "full", content: table([{ title: "table" }, { title: "points" }, { title: "range" }, { title: "measured by" }, { title: "device" }, { title: "software" }, { title: "clock" }, { title: "date" }, { title: "licence" }],
      coverage.map((each) => [each.table, each.points, each.range, each.origin, each.device, each.software, each.clocks, each.date, each.licence]), { filter: true, name: "coverage" }) }),
    errors(data.errors),
    card({ title: "Constants", width: "half", content: table([{ title: "constant" }, { title: "value", format: scientific }, { title: "unit" }, { title: "origin" }], data.constants.map((each) => [each.name, each.value, each.unit, each.origin]), { name: "constants" }) }),
    card({ title: "To make this page again", width: "half", content: h("pre", {}, data.command) }),
  ].filter(Boolean);
}
