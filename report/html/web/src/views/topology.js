// A cluster: whether it holds together, how it is built, what it can carry and how far its GPUs are apart.
import { card, chart } from "../card.js";
import { axis, grid, tooltip } from "../charts.js";
import { h } from "../dom.js";
import { figure } from "../figure.js";
import { bits, count, percent, perSecond, seconds } from "../format.js";
import { structure } from "../parts/structure.js";
import { table } from "../table.js";
import { base, series } from "../theme.js";

const span = (least, most, format) => (format(least) === format(most) ? format(least) : `${format(least)} to ${format(most)}`);

function verdict(facts, between) {
  const wrong = facts.checks.filter((check) => !check.ok);
  const joined = facts.switches.length ? `${facts.oversubscription.toFixed(2)} : 1 over its bisection, at most ${facts.diameter} ${between} between nodes` : "one node, without a network";
  return h("section", { class: wrong.length ? "card verdict bad" : "card verdict", id: "verdict" },
    h("p", {}, h("span", { class: "word" }, wrong.length ? "Look at it" : "It holds together"), `: ${wrong.length ? wrong.map((check) => check.text).join("; ") : joined}.`),
    h("p", { class: "note" }, facts.checks.map((check) => check.text).join("; ")));
}

function distances(facts, between) {
  if (facts.hops.length === 0) return null;
  const pairs = facts.hops.reduce((sum, each) => sum + each.node_pairs, 0);
  const option = () => ({
    grid: grid({ left: 64, top: 16 }),
    tooltip: tooltip({ formatter: ({ dataIndex: i }) => `${facts.hops[i].switches} apart\n${count(facts.hops[i].node_pairs)} pairs, ${percent(facts.hops[i].node_pairs / pairs)}` }),
    xAxis: axis(`${between} between two nodes`, { type: "category", data: facts.hops.map((each) => String(each.switches)) }),
    yAxis: axis("", { type: "value", axisLabel: { color: base().text, formatter: (value) => percent(value, 2) } }),
    series: [{ type: "bar", color: series()[0], barMaxWidth: 60, data: facts.hops.map((each) => each.node_pairs / pairs) }],
  });
  return card({ title: "How far nodes are apart", width: "half", subtitle: facts.hops_are_estimated ? "share of the pairs of nodes, estimated from some" : "share of the pairs of nodes",
    content: chart(option, { height: 240, label: "Pairs of nodes by what is between them" }),
    data: { columns: [{ title: between }, { title: "pairs of nodes" }, { title: "share", format: percent }], rows: facts.hops.map((each) => [each.switches, each.node_pairs, each.node_pairs / pairs]) } });
}

const tables = (facts) => card({ title: "Links and switches", width: "half", content: [
  table([{ title: "links" }, { title: "cables" }, { title: "each way" }, { title: "latency" }],
    facts.cables.map((each) => [each.between, each.count, span(each.bytes_per_second, each.fastest_bytes_per_second, bits), span(each.latency_seconds, each.longest_seconds, seconds)]), { name: "links" }),
  table([{ title: "switches" }, { title: "number" }, { title: "ports used" }, { title: "of" }],
    facts.switches.map((each) => [each.layer, each.count, each.ports_used, each.ports_offered || null]), { name: "switches" }),
] });

const routes = (list) => card({ title: "Routes", width: "full", subtitle: "of messages from GPU 0, with the least rate and the sum of the latencies on the way",
  content: table([{ title: "route" }, { title: "to GPU", format: String }, { title: "links" }, { title: "least rate", format: perSecond }, { title: "latency", format: seconds }, { title: "by way of" }],
    list.map((each) => [each.what, each.to, each.links.length, each.bytes_per_second, each.seconds, each.links.join(" · ")]), { name: "routes" }) });

export function topology(data) {
  const { facts } = data;
  const between = data.structure?.chips ? "links" : "switches";
  const networked = facts.switches.length > 0;
  return [
    verdict(facts, between),
    figure("GPUs", count(facts.gpus), facts.node_groups.map((each) => each.gpu).join(", "), `${count(facts.gpus / facts.gpus_per_node)} nodes of ${facts.gpus_per_node}`),
    networked && figure("Bisection", bits(facts.bisection_bytes_per_second), "each way", `${bits(facts.bisection_bytes_per_second / (facts.gpus / 2))} a GPU`),
    networked && figure("Oversubscription", `${facts.oversubscription.toFixed(2)} : 1`, "", "NICs of half the nodes, over the bisection"),
    networked && figure("Latency", span(facts.nearest_seconds, facts.farthest_seconds, seconds), "", "between GPUs of different nodes"),
    structure(data), networked && tables(facts), distances(facts, between), data.routes.length > 0 && routes(data.routes),
    card({ title: "To make this page again", width: "half", subtitle: `${facts.fabric}, ${facts.routing} routing`, content: h("pre", {}, data.command) }),
  ].filter(Boolean);
}
