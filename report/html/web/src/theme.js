// Colours of both themes; a category of time has the same colour in every chart.
const hues = {
  gemm: ["#1a4fa0", "#4c86e0"],
  attention: ["#4c8bf5", "#79aaff"],
  memory_bound: ["#9dbdf7", "#a9c5f5"],
  tensor_comm: ["#e8833a", "#f0954f"],
  expert_comm: ["#c2569b", "#d977b6"],
  pipeline_comm: ["#f5c07a", "#f3c788"],
  data_comm: ["#c2352b", "#e2604f"],
  offload: ["#8a6fc9", "#a48be0"],
  optimizer: ["#7d9f46", "#9abd62"],
  launch: ["#8d99ab", "#93a0b3"],
  bubble: ["#d5dbe3", "#3b4759"],
};

const kinds = {
  weights: hues.gemm,
  gradients: hues.attention,
  optimizer: hues.memory_bound,
  activations: hues.tensor_comm,
  scratch: hues.optimizer,
};

const phases = {
  forward: hues.attention,
  recompute: hues.memory_bound,
  backward: hues.gemm,
  gradient: ["#0f7a86", "#35a9b5"],
  optimizer: hues.optimizer,
  communication: hues.data_comm,
  send: hues.pipeline_comm,
  copy: hues.offload,
  host: hues.launch,
};

const media = matchMedia("(prefers-color-scheme: dark)");
let chosen = null;

/** "light" or "dark": as the reader chose, else as the system says; paper is light. */
export const current = () => chosen ?? (media.matches ? "dark" : "light");
export const choose = (name) => {
  chosen = name;
  document.documentElement.dataset.theme = name;
};
export const onSystemChange = (f) => media.addEventListener("change", f);

const pick = (pair) => pair[current() === "dark" ? 1 : 0];
export const ofCategory = (key) => pick(hues[key] ?? hues.launch);
export const ofKind = (key) => pick(kinds[key] ?? hues.launch);
export const ofPhase = (key) => pick(phases[key] ?? hues.launch);
export const series = () =>
  current() === "dark"
    ? ["#79aaff", "#f0954f", "#9abd62", "#e2604f", "#a48be0", "#35a9b5", "#d977b6", "#93a0b3"]
    : ["#1a4fa0", "#e8833a", "#7d9f46", "#c2352b", "#8a6fc9", "#0f7a86", "#c2569b", "#6b7789"];
export const good = () => pick(["#1c7c4a", "#5fc48c"]);
export const bad = () => pick(["#c2352b", "#ff8070"]);
export const heat = () => (current() === "dark" ? ["#22304a", "#4c86e0", "#f0954f", "#ff5a45"] : ["#e8eefb", "#7fa8ee", "#e8833a", "#b3241b"]);

/** What every chart has in common. */
export const base = () => {
  const dark = current() === "dark";
  const text = dark ? "#c6d0de" : "#46525f";
  return {
    text,
    strong: dark ? "#eef2f8" : "#1b2430",
    line: dark ? "#33404f" : "#dfe4ec",
    surface: dark ? "#18202b" : "#ffffff",
    font: { color: text, fontFamily: "inherit", fontSize: 12 },
  };
};
