// A table that is sorted by a click on a heading and, where asked for, filtered by what is typed.
import { csv, save } from "./csv.js";
import { h } from "./dom.js";
import { plain } from "./format.js";

const shownRows = 500;

const compare = (a, b) => {
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
};

/** Every word must be in the row: a text as part of any cell, "mfu>0.4" as a bound on a column. */
const matcher = (query, columns) => {
  const tests = query.trim().toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const bound = /^([^<>=]+)(<=|>=|<|>|=)(.+)$/.exec(word);
    const at = bound ? columns.findIndex((column) => column.title.toLowerCase().replaceAll(" ", "_") === bound[1]) : -1;
    if (at < 0) return (row) => row.some((value) => String(value).toLowerCase().includes(word));
    const limit = Number(bound[3]);
    const holds = {
      "<": (v) => v < limit, ">": (v) => v > limit, "<=": (v) => v <= limit, ">=": (v) => v >= limit,
      "=": (v) => (Number.isNaN(limit) ? String(v).toLowerCase() === bound[3] : v === limit),
    }[bound[2]];
    return (row) => row[at] !== null && holds(row[at]);
  });
  return (row) => tests.every((test) => test(row));
};

const text = (column, value) => (value === null || value === undefined ? "–" : column.format ? column.format(value) : plain(value));

/**
 * columns: [{title, unit?, format?}], rows: arrays. options: filter (an input above), name (of the CSV file),
 * onRow(row, index) when one is chosen, sort {column, down}, onFilter(rows) whenever other rows are shown.
 */
export function table(columns, rows, options = {}) {
  let sorted = options.sort ?? null;
  let query = "";
  const body = h("tbody");
  const note = h("p", { class: "note" });
  const heads = columns.map((column, at) =>
    h("th", { scope: "col", class: typeof rows[0]?.[at] === "number" ? "number" : undefined },
      h("button", { type: "button", class: "plain", onclick: () => order(at) }, column.unit ? `${column.title} (${column.unit})` : column.title)));

  const order = (at) => {
    sorted = { column: at, down: sorted?.column === at ? !sorted.down : false };
    draw();
  };
  const line = (row) => {
    const cells = row.map((value, at) => h("td", { class: typeof value === "number" ? "number" : undefined }, String(text(columns[at], value))));
    if (!options.onRow) return h("tr", {}, cells);
    const choose = () => options.onRow(row);
    return h("tr", { tabindex: 0, class: "choice", onclick: choose, onkeydown: (event) => { if (event.key === "Enter") choose(); } }, cells);
  };
  const visible = () => {
    const list = rows.filter(matcher(query, columns));
    if (sorted) list.sort((a, b) => (sorted.down ? -1 : 1) * compare(a[sorted.column], b[sorted.column]));
    return list;
  };
  const draw = () => {
    const list = visible();
    heads.forEach((head, at) => head.setAttribute("aria-sort", sorted?.column !== at ? "none" : sorted.down ? "descending" : "ascending"));
    body.replaceChildren(...list.slice(0, shownRows).map(line));
    note.textContent = list.length > shownRows ? `${shownRows} of ${list.length} rows are shown; the CSV has all.` : query ? `${list.length} of ${rows.length} rows` : "";
    options.onFilter?.(list);
  };
  const tools = h("div", { class: "tools" },
    options.filter && h("input", {
      type: "search", "aria-label": "Filter rows", placeholder: options.hint ?? "filter rows",
      oninput: (event) => { query = event.target.value; draw(); },
    }),
    h("button", { type: "button", onclick: () => save(`${options.name ?? "table"}.csv`, "text/csv", csv(columns, visible())) }, "Download CSV"));
  draw();
  return h("div", { class: "table" }, tools, h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": options.name ?? "table" },
    h("table", {}, h("thead", {}, h("tr", {}, heads)), body)), note);
}
