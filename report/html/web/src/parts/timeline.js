// One step, a rank of each stage: passes of micro-batches, which open into layers and those into kernels as one zooms in.
import { card, chart, onRedraw } from "../card.js";
import { axis, grid, tooltip } from "../charts.js";
import { h } from "../dom.js";
import { seconds } from "../format.js";
import { base, ofPhase } from "../theme.js";
import { rows as rowsOf, passes, unfold } from "./timeline_slices.js";
import { messages } from "./timeline_messages.js";

const rowHeight = 26;
const legendKeys = ["forward", "recompute", "backward", "gradient", "optimizer", "communication", "send", "copy", "host"];

function rectangle(params, api) {
  const row = api.value(0);
  const from = api.coord([api.value(1), row]);
  const to = api.coord([api.value(2), row]);
  const height = api.size([0, 1])[1] * 0.72;
  const left = Math.max(from[0], params.coordSys.x);
  const right = Math.min(to[0], params.coordSys.x + params.coordSys.width);
  if (right < left) return null;
  const width = Math.max(right - left, 0.6);
  const text = width > 46 ? api.value(4) : "";
  return {
    type: "rect", shape: { x: left, y: from[1] - height / 2, width: width > 3 ? width - 0.7 : width, height }, style: { fill: api.visual("color") },
    textContent: { type: "text", style: { text, fill: "#fff", fontSize: 11, overflow: "truncate", width: Math.max(0, width - 8) } },
    textConfig: { position: "inside" },
  };
}

function arrow(params, api) {
  const from = api.coord([api.value(1), api.value(0)]);
  const to = api.coord([api.value(3), api.value(2)]);
  return { type: "line", shape: { x1: from[0], y1: from[1], x2: to[0], y2: to[1] }, style: { stroke: base().strong, lineWidth: 1, opacity: 0.55 } };
}

const chartHeight = (rows) => 96 + rowHeight * rows.length;

/** words: {title, subtitle} where they are others than of one predicted step. */
export function timeline(data, words = {}) {
  const end = data.step_ns;
  let instance = null;
  let range = [0, end];
  let rows, all, arrows;
  const show = (everyLane) => {
    rows = rowsOf(data, everyLane);
    all = passes(data, rows);
    arrows = messages(data, rows);
  };
  show(false);

  const option = () => ({
    grid: grid({ left: 150, right: 24, top: 10, bottom: 66 }),
    tooltip: tooltip({ formatter: ({ data: slice }) => (slice?.said ? slice.said() : "") }),
    dataZoom: [
      { type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true, startValue: range[0], endValue: range[1] },
      { type: "slider", filterMode: "none", height: 18, bottom: 8, startValue: range[0], endValue: range[1], labelFormatter: (value) => seconds(value * 1e-9) },
    ],
    xAxis: axis("", { type: "value", min: 0, max: end, axisLabel: { color: base().text, formatter: (value) => seconds(value * 1e-9), hideOverlap: true } }),
    yAxis: axis("", { type: "category", inverse: true, data: rows.map((row) => row.title), axisTick: { show: false }, axisLabel: { color: base().text, width: 138, overflow: "truncate", interval: 0 } }),
    series: content(),
  });
  const content = () => {
    const slices = unfold(data, all, range);
    const span = range[1] - range[0];
    const near = arrows.filter((each) => each.begin >= range[0] && each.end <= range[1]);
    return [
      { id: "slices", type: "custom", progressive: 0, renderItem: rectangle, encode: { x: [1, 2], y: 0 },
        data: slices.map((slice) => ({ value: [slice.row, slice.begin, slice.end, 0, slice.short], said: slice.said, itemStyle: { color: ofPhase(slice.colour) } })) },
      { id: "arrows", type: "custom", silent: true, renderItem: arrow, z: 3,
        data: near.length <= 60 && span > 0 ? near.map((each) => ({ value: [each.from, each.begin, each.to, each.end] })) : [] },
    ];
  };
  const ready = (made) => {
    instance = made;
    let waiting = 0;
    made.on("datazoom", () => {
      const zoom = made.getOption().dataZoom[0];
      range = [zoom.startValue, zoom.endValue];
      clearTimeout(waiting);
      waiting = setTimeout(() => made.setOption({ series: content() }), 40);
    });
  };
  const zoom = (factor) => {
    const middle = (range[0] + range[1]) / 2;
    const half = Math.min(end, (range[1] - range[0]) * factor) / 2;
    const begin = Math.min(Math.max(0, middle - half), end - 2 * half);
    instance.dispatchAction({ type: "dataZoom", startValue: begin, endValue: begin + 2 * half });
  };
  const lanes = h("button", { type: "button", "aria-pressed": "false", onclick: () => change(lanes.getAttribute("aria-pressed") !== "true") }, "Every lane");
  const change = (every) => {
    lanes.setAttribute("aria-pressed", String(every));
    show(every);
    instance.getDom().style.height = `${chartHeight(rows)}px`;
    instance.resize();
    instance.setOption(option(), { replaceMerge: ["series", "yAxis"] });
  };
  const everything = passes(data, rowsOf(data, true));
  const used = new Set(everything.map((slice) => slice.colour));
  const colours = legendKeys.filter((name) => used.has(name)).map((name) => [name, h("i")]);
  onRedraw(() => colours.forEach(([name, square]) => { square.style.background = ofPhase(name); }));
  const key = h("div", { class: "tools" }, colours.map(([name, square]) => h("span", { class: "key" }, square, name)),
    h("button", { type: "button", onclick: () => zoom(0.4) }, "Zoom in"), h("button", { type: "button", onclick: () => zoom(2.5) }, "Zoom out"),
    h("button", { type: "button", onclick: () => zoom(1e9) }, "Whole step"), lanes);
  const columns = [{ title: "rank" }, { title: "lane" }, { title: "what" }, { title: "micro-batch" }, { title: "begin", unit: "s" }, { title: "end", unit: "s" }];
  return card({
    title: words.title ?? "Timeline of one step", width: "full",
    subtitle: `${words.subtitle ?? "a rank of each stage; zoom in (buttons, slider, Ctrl and wheel) to open passes into layers and layers into kernels"}${data.left_out ? `. Left out: ${data.left_out}` : ""}`,
    content: [key, chart(option, { height: chartHeight(rows), label: "Timeline of the step", ready })],
    data: { columns, rows: everything.map((slice) => [slice.track, slice.lane, slice.text, slice.microBatch < 0 ? null : slice.microBatch, slice.begin * 1e-9, slice.end * 1e-9]), filter: true },
  });
}
