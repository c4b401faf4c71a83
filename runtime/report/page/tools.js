/* What both pages, of a report and of a suite, are made of: elements, numbers as text, tables that sort and search, charts. */
"use strict";
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/* The same for charts, which ask again each time they are drawn. */
const ink = name => () => colour(name);

/* --- small tools */
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
};
const known = value => typeof value === "number" && Number.isFinite(value);
const plain = value => !known(value) ? "–" : Number.isInteger(value) ? value.toLocaleString("en") : Number(value.toPrecision(3)).toString();
const scaled = (value, unit) => {
  if (!known(value)) return "–";
  const prefixes = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
  const [factor, prefix] = prefixes.find(([f]) => Math.abs(value) >= 0.9995 * f) || (value ? prefixes[7] : prefixes[4]);
  return Number((value / factor).toPrecision(3)) + " " + prefix + unit;
};
const percent = value => known(value) ? Number((100 * value).toPrecision(3)) + " %" : "–";
const section = (title, ...children) => {
  const id = title.toLowerCase().replace(/[^a-z]+/g, "-");
  document.querySelector("main").append(make("section", {"aria-labelledby": id}, make("h2", {id}, title), ...children));
};

/* --- tables: a column is [title, row => value, value => text] */
function table(caption, columns, rows, searchable) {
  const body = make("tbody"), head = make("tr");
  const isNumber = columns.map(([, get]) => rows.some(row => known(get(row))));
  let order = null, down = true, filter = "";
  const fill = () => {
    const shown = rows.filter(row => columns.some(([, get]) => String(get(row) ?? "").toLowerCase().includes(filter)));
    if (order !== null) {
      const get = columns[order][1];
      shown.sort((a, b) => {
        const x = get(a) ?? -Infinity, y = get(b) ?? -Infinity;
        return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
      });
    }
    body.replaceChildren(...shown.map(row => make("tr", {}, ...columns.map(([, get, text], i) => {
      const said = text ? text(get(row)) : String(get(row) ?? "–");
      return make("td", isNumber[i] ? {class: "n"} : said.length > 40 ? {class: "long"} : {}, said);
    }))));
  };
  columns.forEach(([title], i) => {
    const button = make("button", {type: "button"}, title), cell = make("th", {scope: "col", ...(isNumber[i] ? {class: "n"} : {})}, button);
    button.addEventListener("click", () => {
      down = order === i ? !down : isNumber[i];
      order = i;
      for (const other of head.children) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      fill();
    });
    head.append(cell);
  });
  fill();
  const search = make("input", {type: "search"});
  search.addEventListener("input", () => { filter = search.value.toLowerCase(); fill(); });
  return make("div", {}, searchable ? make("div", {class: "tools"}, make("label", {}, "Search ", search)) : null,
    make("div", {class: "wide", tabindex: "0", role: "region", "aria-label": caption},
      make("table", {}, make("caption", {}, caption), make("thead", {}, head), body)));
}

/* --- charts, by uPlot, which a change of colours draws anew: dark or light, on the screen or on paper */
const charts = [];
for (const query of ["(prefers-color-scheme: dark)", "print"])
  matchMedia(query).addEventListener("change", () => charts.forEach(plot => plot.redraw(true, true)));
function chart(label, options, data) {
  const place = make("div", {class: "chart", role: "img", "aria-label": label});
  const axis = {stroke: ink("text"), grid: {stroke: ink("line")}, ticks: {stroke: ink("line")}, size: 60};
  requestAnimationFrame(() => {
    const plot = new uPlot({height: 280, width: place.clientWidth || 600, ...options,
      axes: options.axes.map(own => ({...axis, ...own}))}, data, place);
    charts.push(plot);
    new ResizeObserver(() => plot.setSize({width: place.clientWidth, height: 280})).observe(place);
  });
  return place;
}
const si = (_, values) => values.map(value => value === null ? "" : scaled(value, "").trim());
