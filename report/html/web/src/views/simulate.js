// One predicted step: verdict first, then where its time, memory and bytes go, and what it rests on.
import { card } from "../card.js";
import { save } from "../csv.js";
import { h } from "../dom.js";
import { figure } from "../figure.js";
import { bytes, percent, rate, seconds } from "../format.js";
import { breakdown, waterfall } from "../parts/breakdown.js";
import { links } from "../parts/links.js";
import { memory } from "../parts/memory.js";
import { kernels, roofline } from "../parts/roofline.js";
import { scaling } from "../parts/scaling.js";
import { timeline } from "../parts/timeline.js";

const fullest = (report) =>
  report.memory_bytes.reduce((worst, stage) => (stage.capacity - stage.peak < worst.capacity - worst.peak ? stage : worst));

const range = (report) => {
  const interval = report.step_interval_s;
  return interval ? `80%: ${seconds(interval.low)} to ${seconds(interval.high)}` : undefined;
};

function verdict({ report }) {
  const stage = fullest(report);
  const word = report.fits ? "Fits" : "Does not fit";
  const sentences = [
    `${bytes(stage.peak)} of ${bytes(stage.capacity)} on stage ${stage.stage}`,
    report.training_time_s ? `the training takes ${seconds(report.training_time_s)}` : null,
    `MFU ${percent(report.mfu)}`,
    report.bottleneck ? `what binds: ${report.bottleneck}` : null,
  ].filter(Boolean);
  return h("section", { class: report.fits ? "card verdict" : "card verdict bad", id: "verdict" },
    h("p", {}, h("span", { class: "word" }, word), `: ${sentences.join("; ")}.`));
}

function figures({ report }) {
  const stage = fullest(report);
  const reference = report.scale_reference ? `scale factor ${report.scale_factor.toFixed(3)} against ${report.scale_reference.gpus} GPUs` : undefined;
  return [
    figure("Step time", seconds(report.step_time_s), "", range(report)),
    figure("Throughput", rate(report.tokens_per_s), "tokens/s", `${report.model_tflops_per_gpu.toFixed(0)} TFLOP/s per GPU`),
    figure("MFU", percent(report.mfu), "", reference),
    figure("Peak memory", bytes(stage.peak), `of ${bytes(stage.capacity)}`, `stage ${stage.stage}, ${percent(stage.peak / stage.capacity)} used`),
  ];
}

function words({ report }) {
  const rest = report.derived.map((part) => `${percent(part.share)} of the step is derived: ${part.what}.`);
  return card({
    title: "Bottleneck, advice and doubts", width: "half",
    content: h("ul", { class: "words" },
      report.bottleneck && h("li", {}, h("span", { class: "lead" }, report.bottleneck)),
      report.advice.map((line) => h("li", {}, line)),
      [...report.warnings, ...rest].map((line) => h("li", { class: "warning" }, line))),
  });
}

function rerun({ report, command }) {
  const text = JSON.stringify(report.scenario, null, 2);
  return card({
    title: "To run it again", width: "half",
    subtitle: `orrery ${report.provenance.version}, profile ${report.provenance.profile}, seed ${report.provenance.seed}`,
    content: [
      h("pre", {}, command),
      h("div", { class: "tools" }, h("button", { type: "button", onclick: () => save("scenario.json", "application/json", text + "\n") }, "Download the scenario")),
      h("details", {}, h("summary", {}, "Scenario, every value written out"), h("pre", {}, text)),
    ],
  });
}

export const simulate = (data) => [
  verdict(data), ...figures(data), timeline(data.timeline), breakdown(data), waterfall(data), memory(data), scaling(data),
  links(data), roofline(data), kernels(data), words(data), rerun(data),
].filter(Boolean);
