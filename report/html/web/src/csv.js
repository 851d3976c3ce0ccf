// Tables as CSV, which spreadsheets open: a text that would be read as a formula is quoted by an apostrophe.
const cell = (value) => {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** columns: [{title}], rows: arrays of numbers and texts. */
export const csv = (columns, rows) =>
  [columns.map((column) => cell(column.unit ? `${column.title} (${column.unit})` : column.title)), ...rows.map((row) => row.map(cell))]
    .map((row) => row.join(","))
    .join("\r\n") + "\r\n";

/** Offers text to the reader as a file; nothing leaves the machine. */
export const save = (name, type, text) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};
