// Predictions held against published measurements: all of them as points, then by source, then the farthest.
import { card } from "../card.js";
import { h } from "../dom.js";
import { figure } from "../figure.js";
import { count, percent, seconds } from "../format.js";
import { agreement } from "../parts/agreement.js";
import { errors } from "../parts/errors.js";
import { table } from "../table.js";

const share = (value) => (value === null ? "–" : percent(value));
const signed = (value) => (value === null ? "–" : `${value < 0 ? "−" : "+"}${percent(Math.abs(value))}`);

function read(data) {
  return data.rows.map(([source, id, measured, predicted, low, high]) => ({
    source: data.sources[source].source, id, measured, predicted, low, high, error: predicted / measured - 1,
  }));
}

function verdict(data, rows) {
  const near = rows.filter((row) => Math.abs(row.error) <= 0.1).length;
  return h("section", { class: "card verdict", id: "verdict" },
    h("p", {}, h("span", { class: "word" }, `${share(data.mean_of_medians)} in the mean of the sources' medians`),
      `: ${count(near)} of ${count(rows.length)} steps lie within 10% of what was measured.`),
    h("p", { class: "note" }, "Error is predicted / measured − 1. A source is one publication, repository or table; each counts alike, however many rows it has."));
}

export function validation(data) {
  const rows = read(data);
  const bySource = data.sources.filter((source) => source.predicted > 0);
  const skipped = data.sources.flatMap((source) => Object.entries(source.reasons).map(([why, number]) => [source.source, number, why]));
  return [
    verdict(data, rows),
    figure("Mean of the source medians", share(data.mean_of_medians), "", `${count(bySource.length)} sources`),
    figure("Within 10%", share(data.within_tenth), "of the steps"),
    figure("Inside their interval", share(data.inside_interval), "", "meant to hold 80%"),
    figure("Predicted", count(rows.length), `of ${count(data.sources.reduce((sum, source) => sum + source.rows, 0))} rows`),
    agreement(rows, { title: "All steps", subtitle: "dashed: 10% more and less", label: "Predicted against measured seconds a step" }), errors(rows, bySource),
    card({ title: "Steps", width: "full", subtitle: "the farthest first; filter by words, or by bounds such as measured>10 error<-0.2",
      content: table([{ title: "source" }, { title: "row" }, { title: "measured", format: seconds }, { title: "predicted", format: seconds }, { title: "error", format: signed }, { title: "off", format: share }],
        rows.map((row) => [row.source, row.id, row.measured, row.predicted, row.error, Math.abs(row.error)]), { filter: true, name: "steps", sort: { column: 5, down: true } }) }),
    skipped.length > 0 && card({ title: "Not predicted", width: "full", subtitle: "every row that was skipped, by its reason",
      content: table([{ title: "source" }, { title: "rows" }, { title: "because" }], skipped, { filter: true, name: "not-predicted", sort: { column: 1, down: true } }) }),
    card({ title: "To make this page again", width: "half", content: h("pre", {}, data.command) }),
  ].filter(Boolean);
}
