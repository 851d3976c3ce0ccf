// One question and its answer: a heading, a chart, and the table behind it.
import * as echarts from "./echarts.js";
import { h } from "./dom.js";
import { table } from "./table.js";
import { base } from "./theme.js";

const charts = [];

const chartText = (option) => ({
  animation: false,
  textStyle: base().font,
  aria: { enabled: true },
  ...option,
});

/** For drawings that are no charts: called whenever these are drawn. */
export const onRedraw = (draw) => charts.push({ instance: null, draw });

/** Draws every chart again: another theme, paper. */
export function redraw() {
  for (const chart of charts) chart.draw();
}

/** Draws those again whose place has another size now: to draw a timeline takes a second. */
export function resize() {
  for (const { instance } of charts) {
    if (!instance) continue;
    const { clientWidth, clientHeight } = instance.getDom();
    if (clientWidth !== instance.getWidth() || clientHeight !== instance.getHeight()) instance.resize();
  }
}

/** A chart in an element; option() is asked again whenever the theme changes. ready(instance) may listen to it. */
export function chart(option, { height = 260, label = "", ready } = {}) {
  const place = h("div", { class: "chart", style: `height:${height}px`, role: "img", "aria-label": label });
  const entry = {
    instance: null,
    draw() {
      if (!this.instance) {
        this.instance = echarts.init(place, null, { renderer: "canvas" });
        ready?.(this.instance);
      }
      this.instance.setOption(chartText(option()), { notMerge: true });
    },
  };
  charts.push(entry);
  return place;
}

/** {title, subtitle?, wide?, content: elements, data?: {columns, rows, ...options}} as a section. */
export function card({ title, subtitle, width = "third", content = [], data }) {
  const name = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  const behind = data && h("details", {}, h("summary", {}, "Table"), table(data.columns, data.rows, { name, ...data }));
  return h("section", { class: `card ${width}`, id: name, "aria-labelledby": `${name}-title` },
    h("h2", { id: `${name}-title` }, title), subtitle && h("p", { class: "subtitle" }, subtitle), content, behind);
}
