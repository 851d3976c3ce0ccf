// Numbers as people read them: three digits, with their unit.
const digits = (value, figures = 3) => {
  if (value === 0) return "0";
  const places = Math.max(0, figures - 1 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(places, 8));
};

const scaled = (value, base, units) => {
  let step = 0;
  while (Math.abs(value) >= base && step + 1 < units.length) {
    value /= base;
    ++step;
  }
  return `${digits(value)} ${units[step]}`;
};

export const count = (value) => Math.round(value).toLocaleString("en");

export const plain = (value) =>
  typeof value !== "number" ? value : Number.isInteger(value) || Math.abs(value) >= 1000 ? count(value) : digits(value);

export const seconds = (value) => {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 1e-6) return `${digits(value * 1e9)} ns`;
  if (size < 1e-3) return `${digits(value * 1e6)} µs`;
  if (size < 1) return `${digits(value * 1e3)} ms`;
  if (size < 300) return `${digits(value)} s`;
  if (size < 7200) return `${digits(value / 60)} min`;
  if (size < 48 * 3600) return `${digits(value / 3600)} h`;
  return `${digits(value / 86400)} days`;
};

export const bytes = (value) => scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
export const gib = (value) => value / 2 ** 30;
export const perSecond = (value) => scaled(value, 1000, ["B/s", "KB/s", "MB/s", "GB/s", "TB/s"]);
export const flops = (value) => scaled(value, 1000, ["FLOP/s", "KFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"]);
export const rate = (value) => scaled(value, 1000, ["", "k", "M", "G", "T"]).trim();
export const percent = (share, figures = 3) => `${digits(share * 100, figures)}%`;
/** Of a network: bits each second. */
export const bits = (value) => scaled(value * 8, 1000, ["b/s", "Kb/s", "Mb/s", "Gb/s", "Tb/s", "Pb/s"]);
