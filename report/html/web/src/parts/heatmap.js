// The best step of any two settings.
import { card, chart } from "../card.js";
import { axis, grid, tooltip } from "../charts.js";
import { h } from "../dom.js";
import { seconds } from "../format.js";
import { redraw } from "../card.js";
import { base, heat } from "../theme.js";

const order = (values) => [...new Set(values)].sort((a, b) => String(a).localeCompare(String(b), "en", { numeric: true }));

export function heatmap(keys, points) {
  const fitting = points.filter((point) => point.fits !== false);
  const varied = keys.filter((key) => new Set(fitting.map((point) => String(point.values[key]))).size > 1);
  if (varied.length < 2) return null;
  const chosen = [varied[0], varied[1]];
  const cells = () => {
    const best = new Map();
    for (const point of fitting) {
      const at = chosen.map((key) => String(point.values[key]));
      const key = at.join("\u0000");
      if (!(best.get(key)?.step <= point.step_time_s)) best.set(key, { at, step: point.step_time_s });
    }
    return [...best.values()];
  };
  const option = () => {
    const list = cells();
    const [xs, ys] = [0, 1].map((i) => order(list.map((cell) => cell.at[i])));
    const steps = list.map((cell) => cell.step);
    return {
      grid: grid({ left: 110, bottom: 60, right: 80 }), tooltip: tooltip({ formatter: ({ data }) => `${chosen[0]} ${xs[data[0]]}, ${chosen[1]} ${ys[data[1]]}\n${seconds(data[2])}` }),
      xAxis: axis(chosen[0], { type: "category", data: xs }), yAxis: axis(chosen[1], { type: "category", data: ys, nameGap: 84 }),
      visualMap: { min: Math.min(...steps), max: Math.max(...steps), right: 0, top: "middle", calculable: false, itemHeight: 120, textStyle: { color: base().text }, formatter: seconds, inRange: { color: heat() } },
      series: [{ type: "heatmap", progressive: 0, label: { show: list.length <= 80, color: base().strong, formatter: ({ data }) => seconds(data[2]) }, data: list.map((cell) => [xs.indexOf(cell.at[0]), ys.indexOf(cell.at[1]), cell.step]) }],
    };
  };
  const select = (i) => h("select", { "aria-label": i ? "vertical axis" : "horizontal axis", onchange: (event) => { chosen[i] = event.target.value; redraw(); } },
    varied.map((key) => h("option", { value: key, selected: key === chosen[i] }, key)));
  return card({ title: "Best step by two settings", width: "half", content: [h("div", { class: "tools" }, select(0), select(1)), chart(option, { height: 320, label: "Heat map of the best step" })] });
}
