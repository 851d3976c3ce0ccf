// Elements from plain values. Text is always set as text: a name from a scenario is never read as markup.
const namespaces = { svg: "http://www.w3.org/2000/svg" };

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false || value === null) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An element: h("p", {class: "note"}, "text", h("b", {}, "more")). */
export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/** The same for drawings. */
export const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(namespaces.svg, tag), attributes, children);
