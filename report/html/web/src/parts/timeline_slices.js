// What a timeline shows of a range: passes, or their layers, or the kernels of those.
import { seconds } from "../format.js";

const width = 5; // numbers of a pass: begin, duration, label, micro-batch, pattern

/** Lanes that a rank's single row shows, those on top last: what it computes, and gradients on the wire. */
const summary = ["data", "compute"];

/** A row for each rank, or for each lane of each rank: {title, track, stage, lanes: [{lane, passes}]}. */
export function rows(data, everyLane) {
  return data.tracks.flatMap((track) => {
    const row = (title, lanes) => ({ title, track: track.title, stage: track.stage, lanes });
    if (everyLane) return track.lanes.map((lane) => row(lane.name === "compute" ? track.title : lane.name.replaceAll(/[-_]/g, " "), [lane]));
    return [row(track.title, summary.flatMap((name) => track.lanes.filter((lane) => lane.name === name)))];
  });
}

const colour = (lane) => (lane.startsWith("send") || lane.startsWith("recv") ? "send" : null);

/** Every pass of every row. */
export function passes(data, rows) {
  return rows.flatMap((row, at) => row.lanes.flatMap((lane) => {
    const list = [];
    for (let i = 0; i < lane.passes.length; i += width) {
      const [begin, duration, label, microBatch, pattern] = lane.passes.slice(i, i + width);
      list.push(pass(data, row, at, lane.name, { begin, end: begin + duration, label: data.labels[label], microBatch, pattern }));
    }
    return list;
  }));
}

function pass(data, row, at, lane, { begin, end, label, microBatch, pattern }) {
  const layers = pattern < 0 ? 0 : data.patterns[pattern].length / 4;
  const text = layers > 1 ? `${label.text}, ${layers} layers` : label.text;
  const of = microBatch < 0 ? "" : ` of micro-batch ${microBatch}`;
  return {
    row: at, track: row.track, lane, begin, end, pattern, microBatch, text, colour: colour(lane) ?? label.colour, short: label.named || microBatch < 0 ? label.text : String(microBatch),
    said: () => `${row.track}, ${lane}\n${text}${of}\n${seconds((end - begin) * 1e-9)} from ${seconds(begin * 1e-9)}${label.what ? `\n${label.what}` : ""}`,
  };
}

function layersOf(data, slice) {
  const numbers = data.patterns[slice.pattern];
  const list = [];
  for (let i = 0; i < numbers.length; i += 4) {
    const [offset, duration, layer, label] = numbers.slice(i, i + 4);
    const begin = slice.begin + offset;
    const said = () => `layer ${layer}: ${data.labels[label].text}\n${seconds(duration * 1e-9)} from ${seconds(begin * 1e-9)}\n${data.labels[label].what ?? ""}`;
    list.push({ ...slice, begin, end: begin + duration, short: `layer ${layer}`, said, block: data.labels[label].block });
  }
  return list;
}

const kernelColours = { gemm: "backward", attention: "forward", "memory-bound": "recompute", communication: "communication" };

function kernelsOf(data, slice) {
  const block = data.blocks[slice.block];
  if (!block) return [slice];
  const stretch = (slice.end - slice.begin) / block.duration_ns;
  return block.ops.map(([text, category, offset, duration]) => {
    const begin = slice.begin + offset * stretch;
    return {
      ...slice, begin, end: begin + duration * stretch, short: text, colour: kernelColours[category] ?? "host",
      said: () => `${text}\n${category}, ${seconds(duration * stretch * 1e-9)}`,
    };
  });
}

const layersFrom = 1 / 60; // a layer takes this much of the picture: passes open
const kernelsFrom = 1 / 6;

/** The slices of [from, to]. */
export function unfold(data, all, [from, to]) {
  const span = to - from;
  return all.flatMap((slice) => {
    if (slice.end < from || slice.begin > to) return [];
    if (slice.pattern < 0) return [slice];
    const count = data.patterns[slice.pattern].length / 4;
    if ((slice.end - slice.begin) / count < layersFrom * span) return [slice];
    return layersOf(data, slice).flatMap((layer) => {
      if (layer.end < from || layer.begin > to) return [];
      return layer.end - layer.begin < kernelsFrom * span ? [layer] : kernelsOf(data, layer);
    });
  });
}
