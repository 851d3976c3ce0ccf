// The fastest plan of each number of GPUs.
import { card, chart } from "../card.js";
import { lines } from "../charts.js";
import { count, percent, rate } from "../format.js";

export function growth(points) {
  const fastest = new Map();
  for (const point of points)
    if (point.fits !== false && !(fastest.get(point.gpus)?.tokens_per_s >= point.tokens_per_s)) fastest.set(point.gpus, point);
  const list = [...fastest.values()].sort((a, b) => a.gpus - b.gpus);
  if (list.length < 2) return null;
  const ideal = (point) => point.tokens_per_s / list[0].tokens_per_s / (point.gpus / list[0].gpus);
  const option = () => lines({
    x: "GPUs", y: "share of ideal", sets: [{ name: "of ideal", points: list.map((point) => [point.gpus, ideal(point)]) }, { name: "MFU", points: list.map((point) => [point.gpus, point.mfu]) }],
    xAxis: { type: "log", logBase: 2, min: "dataMin", max: "dataMax" }, value: (share) => percent(share),
  });
  return card({ title: "Scaling over GPUs", subtitle: `the fastest of each number, against ${count(list[0].gpus)} GPUs`, width: "half",
    content: chart(option, { height: 340, label: "Share of ideal scaling over GPUs" }),
    data: { columns: [{ title: "GPUs" }, { title: "tokens/s", format: rate }, { title: "of ideal", format: percent }, { title: "MFU", format: percent }], rows: list.map((point) => [point.gpus, point.tokens_per_s, ideal(point), point.mfu]) } });
}
