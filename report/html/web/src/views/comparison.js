// A prediction held against a run: the step, its parts, both timelines, and which operations make the difference.
import { card, chart } from "../card.js";
import { axis, grid, legend, tooltip } from "../charts.js";
import { h } from "../dom.js";
import { figure } from "../figure.js";
import { bytes, count, percent, seconds } from "../format.js";
import { agreement } from "../parts/agreement.js";
import { timeline } from "../parts/timeline.js";
import { table } from "../table.js";
import { base, series } from "../theme.js";

const signed = (value) => (value === null ? "–" : value === 0 ? "0%" : `${value < 0 ? "−" : "+"}${percent(Math.abs(value))}`);
const error = (pair) => (pair.measured > 0 ? pair.error : null);

function verdict({ comparison: { step, step_spread: spread, operations, joined, median_op_error: median }, tolerance }) {
  const good = Math.abs(step.error) <= tolerance;
  const most = operations[0];
  const doubts = [spread > 0 && `the measured steps lie within ±${percent(spread)}`, joined > 0 ? `${count(joined)} operations were held against each other, median error ${percent(median)}` : "operations are not in both files: predict with simulate --operations",
    most && `most of the difference: ${most.name}, ${signed((most.predicted - most.measured) / step.measured)} of the step`].filter(Boolean);
  return h("section", { class: good ? "card verdict" : "card verdict bad", id: "verdict" },
    h("p", {}, h("span", { class: "word" }, good ? "Within the tolerance" : "Outside the tolerance"), `: the step was predicted to take ${seconds(step.predicted)} and took ${seconds(step.measured)}, ${signed(step.error)} against ${percent(tolerance)} allowed.`),
    h("p", { class: "note" }, `${doubts.join("; ")}. Error is predicted / measured − 1.`));
}

/** Two bars for each of some pairs of seconds. */
function bars({ title, subtitle, pairs, width = "half" }) {
  if (pairs.length === 0) return null;
  const option = () => ({
    grid: grid({ left: 150, top: 34, bottom: 30 }), legend: legend(), color: [series()[0], series()[1]],
    tooltip: tooltip({ trigger: "axis", axisPointer: { type: "shadow" }, valueFormatter: seconds }),
    xAxis: axis("", { type: "value", axisLabel: { color: base().text, formatter: seconds, hideOverlap: true } }),
    yAxis: axis("", { type: "category", inverse: true, data: pairs.map((pair) => pair.name), axisLabel: { color: base().text, width: 138, overflow: "truncate", interval: 0 } }),
    series: [{ name: "predicted", type: "bar", data: pairs.map((pair) => pair.predicted) }, { name: "measured", type: "bar", data: pairs.map((pair) => pair.measured) }],
  });
  return card({ title, subtitle, width, content: chart(option, { height: 76 + 36 * pairs.length, label: title }),
    data: { columns: [{ title: "part" }, { title: "predicted", format: seconds }, { title: "measured", format: seconds }, { title: "error", format: signed }], rows: pairs.map((pair) => [pair.name, pair.predicted, pair.measured, error(pair)]) } });
}

/** Sums over the operations of each kind. */
function byKind(operations) {
  const kinds = new Map();
  for (const each of operations) {
    const sum = kinds.get(each.kind) ?? { name: each.kind, predicted: 0, measured: 0 };
    sum.predicted += each.predicted;
    sum.measured += each.measured;
    kinds.set(each.kind, sum);
  }
  return [...kinds.values()].map((each) => ({ ...each, error: each.predicted / each.measured - 1 })).sort((a, b) => b.measured - a.measured);
}

function eachOperation(operations) {
  const drawn = operations.filter((each) => each.predicted > 0 && each.measured > 0);
  if (drawn.length === 0) return null;
  return agreement(drawn.map((each) => ({ source: each.kind, id: each.name, measured: each.measured, predicted: each.predicted })), {
    title: "Operations against each other", subtitle: "seconds of a rank in a step, all layers and micro-batches together; dashed: 10% more and less",
    height: 360, size: 8, label: "Predicted against measured seconds of each operation",
    data: { columns: [{ title: "operation" }, { title: "kind" }, { title: "measured", format: seconds }, { title: "predicted", format: seconds }], rows: drawn.map((each) => [each.name, each.kind, each.measured, each.predicted]) },
  });
}

function all(operations, step) {
  const columns = [{ title: "operation" }, { title: "kind" }, { title: "runs" }, { title: "predicted", format: seconds }, { title: "measured", format: seconds }, { title: "error", format: signed },
    { title: "of step", format: signed }, { title: "median of each", format: percent }, { title: "spread", format: percent }];
  return card({ title: "Operations", width: "full", subtitle: "those that explain most first; filter by words, or by bounds such as error>0.2 kind=gemm",
    content: table(columns, operations.map((each) => [each.name, each.kind, each.count, each.predicted, each.measured, error(each), (each.predicted - each.measured) / step.measured, each.median_error, each.spread]), { filter: true, name: "operations" }) });
}

const memoryTable = (memory) => card({ title: "Peak memory of the stages", width: "half",
  content: table([{ title: "stage" }, { title: "predicted", format: bytes }, { title: "measured", format: bytes }, { title: "error", format: signed }], memory.map((each) => [each.name, each.predicted, each.measured, error(each)]), { name: "memory" }) });

const sides = ({ predicted, measured }) => card({ title: "What was compared", width: "half",
  content: table([{ title: "" }, { title: "predicted" }, { title: "measured" }], [["file", predicted.file, measured.file], ["scenario", predicted.name, measured.name], ["cluster or machine", predicted.cluster, measured.cluster], ["profile or clock", predicted.profile, measured.profile]], { name: "sides" }) });

export function comparison(data) {
  const { step, categories, memory_bytes: memory, operations } = data.comparison;
  const kinds = byKind(operations);
  const peak = memory.reduce((most, each) => (most === null || each.measured > most.measured ? each : most), null);
  return [
    verdict(data),
    figure("Predicted step", seconds(step.predicted)), figure("Measured step", seconds(step.measured)),
    figure("Error", signed(step.error), "", `${percent(data.tolerance)} allowed`),
    peak && figure("Peak memory", bytes(peak.predicted), "predicted", `${bytes(peak.measured)} measured, ${peak.name}`),
    data.timeline && timeline(data.timeline, { title: "Predicted above measured", subtitle: "a rank of each role; zoom with the buttons, the slider, or Ctrl and wheel" }),
    bars({ title: "Where the step goes", subtitle: "mean over the stages", pairs: categories.filter((each) => Math.max(each.predicted, each.measured) > 0) }),
    bars({ title: "Time by kind", subtitle: "seconds of a rank in its operations", pairs: kinds }),
    eachOperation(operations), memory.length > 0 && memoryTable(memory), operations.length > 0 && all(operations, step),
    sides(data), card({ title: "To make this page again", width: "half", content: h("pre", {}, data.command) }),
  ].filter(Boolean);
}
