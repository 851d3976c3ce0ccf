// Arrows from sends to receives: the k-th send of a stage meets the k-th receive of its neighbour.
const width = 5; // numbers of a pass, as in timeline_slices.js

const pairs = [
  { send: "send-forward", receive: "recv-forward", delta: 1 },
  { send: "send-backward", receive: "recv-backward", delta: -1 },
  { send: "send-forward-against", receive: "recv-forward-against", delta: -1 },
  { send: "send-backward-against", receive: "recv-backward-against", delta: 1 },
];

const spans = (lane) => {
  const list = [];
  for (let i = 0; i < lane.passes.length; i += width) list.push([lane.passes[i], lane.passes[i] + lane.passes[i + 1]]);
  return list;
};

/** [{from: row, begin, to: row, end}] between the rows of the ranks' computation. */
export function messages(data, rows) {
  const row = new Map(data.tracks.map((track) => [track, rows.findIndex((each) => each.track === track.title)]));
  const of = (track, name) => track?.lanes.find((lane) => lane.name === name);
  return data.tracks.flatMap((track) => pairs.flatMap(({ send, receive, delta }) => {
    const peer = data.tracks.find((each) => each.stage === track.stage + delta);
    const [sent, received] = [of(track, send), of(peer, receive)];
    if (!sent || !received || sent.passes.length !== received.passes.length) return [];
    const ends = spans(received);
    return spans(sent).map(([begin], k) => ({ from: row.get(track), begin, to: row.get(peer), end: ends[k][1] }));
  }));
}
