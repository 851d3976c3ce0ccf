// A question of a planner: the candidate that answers it, all of them beside each other, and what moves the answer.
import { card } from "../card.js";
import { h } from "../dom.js";
import { figure } from "../figure.js";
import { count, percent, rate, seconds } from "../format.js";
import { ranges } from "../parts/ranges.js";
import { tornado } from "../parts/tornado.js";
import { table } from "../table.js";

const day = 86400;
const days = (value) => `${value < 10 ? value.toFixed(1) : count(value)}`;
const span = (range, format) => (range ? `${format(range[0])} – ${format(range[1])}` : "–");
const middle = ([low, high]) => (low + high) / 2;

function verdict({ question, candidates }, best) {
  const asked = [`${rate(question.tokens)} tokens`, question.deadline_s && `within ${seconds(question.deadline_s)}`, question.budget && `for at most ${rate(question.budget)}`].filter(Boolean).join(" ");
  const text = best ? `${best.name}: ${span(best.best.days, days)} days, ${span(best.best.money, rate)} ${best.currency}.` : "none of the candidates meets it.";
  const binds = best?.binds ?? candidates.find((each) => each.binds)?.binds;
  return h("section", { class: best ? "card verdict" : "card verdict bad", id: "verdict" },
    h("p", {}, h("span", { class: "word" }, best ? "Take" : "No answer"), ` ${text}`),
    h("p", { class: "note" }, `Asked: ${asked}. A step may be off by ${percent(question.step_error)}.${binds ? ` What binds: ${binds}.` : ""}`));
}

function candidatesTable(candidates, currency) {
  const columns = [{ title: "candidate" }, { title: "meets it" }, { title: "GPUs" }, { title: "MFU", format: percent }, { title: "step", format: seconds }, { title: "goodput", format: percent },
    { title: "days" }, { title: "GPU-hours" }, { title: currency }, { title: "MWh" }, { title: "t CO2" }, { title: "binds" }];
  const rows = candidates.map(({ name, meets, best, binds, refused }) => best
    ? [name, meets ? "yes" : "no", best.gpus, best.mfu, best.step_time_s, best.goodput, span(best.days, days), span(best.gpu_hours, rate), span(best.money, rate), span(best.mwh, rate), span(best.co2_tonnes, rate), binds]
    : [name, "no", null, null, null, null, null, null, null, null, null, refused.join("; ")]);
  return card({ title: "Candidates", width: "full", content: table(columns, rows, { name: "candidates" }) });
}

export function capacity(data) {
  const { question, candidates } = data;
  const answered = candidates.filter((each) => each.best);
  const best = answered.find((each) => each.name === data.chosen) ?? null;
  const shown = best ?? answered[0];
  const currency = shown?.currency ?? "money";
  const set = (key) => answered.filter((each) => each.best[key]).map((each) => ({ name: each.name, range: each.best[key] }));
  const money = shown?.tornado.filter((swing) => swing.money) ?? [];
  return [
    verdict(data, best),
    shown && figure("Days", span(shown.best.days, days), "", shown.name),
    shown?.best.money && figure(currency, span(shown.best.money, rate)),
    shown && figure("GPU-hours", span(shown.best.gpu_hours, rate)),
    shown && figure("Goodput", percent(shown.best.goodput), "", `${count(shown.best.failures)} failures expected`),
    candidatesTable(candidates, currency),
    ranges({ title: "Days of each", subtitle: "a step quicker or slower by its error, failures at their tenths", unit: "days", sets: set("days"), limit: question.deadline_s ? question.deadline_s / day : null, limitName: "deadline", format: days }),
    ranges({ title: "Cost of each", unit: currency, sets: set("money"), limit: question.budget ?? null, limitName: "budget", format: rate }),
    shown && tornado({ title: `Days of ${shown.name}, if`, unit: "days", swings: shown.tornado.map((swing) => ({ input: swing.input, range: swing.days })), middle: middle(shown.best.days), format: days }),
    money.length > 0 && tornado({ title: `Cost of ${shown.name}, if`, unit: currency, swings: money.map((swing) => ({ input: swing.input, range: swing.money })), middle: middle(shown.best.money), format: rate }),
    card({ title: "Plans", width: "half", content: answered.map((each) => h("pre", {}, `${each.name}\n${Object.entries(each.strategy).map(([key, value]) => `--set strategy.${key}=${value}`).join(" \\\n  ")}`)) }),
    card({ title: "To make this page again", width: "half", content: h("pre", {}, data.command) }),
  ].filter(Boolean);
}
