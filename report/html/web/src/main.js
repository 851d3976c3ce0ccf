// Draws the report whose data stands in the page.
import { redraw, resize } from "./card.js";
import { h } from "./dom.js";
import { choose, current, onSystemChange } from "./theme.js";
import { calibration } from "./views/calibration.js";
import { capacity } from "./views/capacity.js";
import { collective } from "./views/collective.js";
import { comparison } from "./views/comparison.js";
import { plans } from "./views/plans.js";
import { simulate } from "./views/simulate.js";
import { topology } from "./views/topology.js";
import { validation } from "./views/validation.js";

const views = { simulate, sweep: plans, search: plans, validate: validation, capacity, compare: comparison, collective, topology, calibration };

function header(data) {
  const label = () => (current() === "dark" ? "Light" : "Dark");
  const button = h("button", { type: "button", onclick: () => change(current() === "dark" ? "light" : "dark") }, label());
  const change = (theme) => {
    choose(theme);
    button.textContent = label();
    redraw();
  };
  addEventListener("beforeprint", () => { const now = current(); change("light"); resize(); addEventListener("afterprint", () => change(now), { once: true }); });
  onSystemChange(() => change(current()));
  choose(current());
  return h("header", {}, h("h1", {}, data.title), button, h("p", {}, data.subtitle));
}

const data = JSON.parse(document.getElementById("data").textContent);
document.title = data.title;
document.getElementById("report").replaceChildren(header(data), ...views[data.view](data));
redraw();
new ResizeObserver(resize).observe(document.body);
document.documentElement.dataset.drawn = "true";
// Behind the first frame that shows it: how long a reader waited, from when the file was opened.
requestAnimationFrame(() => setTimeout(() => performance.mark("shown")));
