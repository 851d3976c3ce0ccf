// Axes, legends and tooltips in one style.
import { base, series } from "./theme.js";

export const axis = (name, extra = {}) => ({
  name, nameLocation: "middle", nameGap: 28, nameTextStyle: { color: base().text },
  axisLine: { lineStyle: { color: base().line } }, axisLabel: { color: base().text, hideOverlap: true },
  splitLine: { lineStyle: { color: base().line } }, ...extra,
});

export const legend = (extra = {}) => ({ top: 0, type: "scroll", itemWidth: 14, itemHeight: 9, textStyle: { color: base().text }, ...extra });

export const tooltip = (extra = {}) => ({
  backgroundColor: base().surface, borderColor: base().line, textStyle: { color: base().strong, fontSize: 12 },
  renderMode: "richText", confine: true, ...extra,
});

export const grid = (extra = {}) => ({ left: 56, right: 20, top: 34, bottom: 44, ...extra });

/** Lines of numbers: [{name, points: [[x, y]], color?}]. */
export const lines = ({ x, y, sets, xAxis = {}, yAxis = {}, value = (v) => v, marks = [] }) => ({
  grid: grid(), legend: sets.length > 1 ? legend() : undefined, color: series(),
  tooltip: tooltip({ trigger: "axis", valueFormatter: value }),
  xAxis: axis(x, { type: "value", ...xAxis }), yAxis: axis(y, { type: "value", nameGap: 40, ...yAxis }),
  series: sets.map((set, at) => ({
    type: "line", name: set.name, data: set.points, symbolSize: 6, color: set.color,
    markLine: at === 0 && marks.length ? { symbol: "none", silent: true, label: { color: base().text, textBorderWidth: 0 }, data: marks } : undefined,
  })),
});
