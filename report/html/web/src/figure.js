// A key figure.
import { h } from "./dom.js";

export const figure = (title, value, beside, below) =>
  h("section", { class: "card figure" }, h("h2", {}, title),
    h("div", {}, h("strong", {}, value), " ", h("span", { class: "unit" }, beside ?? "")), below && h("p", {}, below));
