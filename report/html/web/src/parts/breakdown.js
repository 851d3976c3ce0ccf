// Where the step goes: by stage, and from its useful arithmetic up to its whole length.
import { card, chart } from "../card.js";
import { axis, grid, legend, tooltip } from "../charts.js";
import { percent, seconds } from "../format.js";
import { base, ofCategory } from "../theme.js";

const used = ({ report, categories }) => categories.filter(({ key }) => report.stages.some((stage) => stage.breakdown_s[key] > 0));

/** At most so many bars: the first and last stages and the one that bounds the step. */
const shownStages = 12;
function stagesOf(report) {
  const all = report.stages;
  if (all.length <= shownStages) return all;
  const keep = new Set([report.bounding_stage]);
  for (let i = 0; keep.size < shownStages; ++i) {
    keep.add(i);
    keep.add(all.length - 1 - i);
  }
  return all.filter((stage) => keep.has(stage.stage));
}

export function breakdown(data) {
  const categories = used(data);
  const stages = stagesOf(data.report);
  const option = () => ({
    grid: grid({ left: 66, top: 62 }), legend: legend({ type: "plain" }), tooltip: tooltip({ trigger: "axis", axisPointer: { type: "shadow" }, valueFormatter: seconds }),
    xAxis: axis("", { type: "value", axisLabel: { color: base().text, formatter: seconds, hideOverlap: true } }),
    yAxis: axis("", { type: "category", inverse: true, data: stages.map((stage) => `stage ${stage.stage}`), nameGap: 0 }),
    series: categories.map(({ key, title }) => ({
      name: title, type: "bar", stack: "step", color: ofCategory(key), barMaxWidth: 26, data: stages.map((stage) => stage.breakdown_s[key]),
    })),
  });
  const columns = [{ title: "stage" }, ...categories.map(({ title }) => ({ title, unit: "s" }))];
  return card({
    title: "Where the step goes", subtitle: "exposed time of each stage's slowest rank", width: "half",
    content: chart(option, { height: 110 + 30 * stages.length, label: "Time of each stage by category" }),
    data: { columns, rows: data.report.stages.map((stage) => [stage.stage, ...categories.map(({ key }) => stage.breakdown_s[key])]) },
  });
}

/** Means over the stages, stacked from matrix products to the whole step. */
export function waterfall(data) {
  const { stages, step_time_s: step } = data.report;
  const steps = used(data).map(({ key, title }) => ({ key, title, value: stages.reduce((sum, stage) => sum + stage.breakdown_s[key], 0) / stages.length }));
  let sum = 0;
  const rows = steps.map((each) => ({ ...each, from: (sum += each.value) - each.value }));
  const option = () => ({
    grid: grid({ bottom: 70, top: 14 }),
    tooltip: tooltip({ formatter: ({ dataIndex }) => (dataIndex < rows.length ? `${rows[dataIndex].title}: ${seconds(rows[dataIndex].value)}, ${percent(rows[dataIndex].value / step)}` : `step: ${seconds(step)}`) }),
    xAxis: axis("", { type: "category", data: [...rows.map((row) => row.title), "step"], axisLabel: { color: base().text, rotate: 35, interval: 0 } }),
    yAxis: axis("", { type: "value", axisLabel: { color: base().text, formatter: seconds } }),
    series: [
      { type: "bar", stack: "all", silent: true, itemStyle: { color: "transparent" }, data: [...rows.map((row) => row.from), 0] },
      { type: "bar", stack: "all", barCategoryGap: "25%", data: [...rows.map((row) => ({ value: row.value, itemStyle: { color: ofCategory(row.key) } })), { value: step, itemStyle: { color: base().text } }] },
    ],
  });
  return card({
    title: "From arithmetic to the whole step", subtitle: "mean over the stages, each part on top of those before it", width: "half",
    content: chart(option, { height: 300, label: "Waterfall of the step's time" }),
    data: { columns: [{ title: "part" }, { title: "mean", unit: "s" }, { title: "share", format: percent }], rows: rows.map((row) => [row.title, row.value, row.value / step]) },
  });
}
