"use strict";
// What is alive on a page only with this script stands there hidden, or as plain text, until it runs.
(function () {
  const place = document.getElementById("find"), form = place && place.form;
  if (!form || !form.dataset.index) return;
  form.hidden = false;
  const found = document.getElementById("found"), root = form.dataset.root, MOST = 100;
  let loading = null;

  // The index is a script, because a page on disk may load nothing else.
  function load() {
    loading = loading || new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = form.dataset.index;
      script.onload = () => done(window.atlasIndex); script.onerror = failed;
      document.head.append(script);
    });
    return loading;
  }
  function text(tag, said) { const made = document.createElement(tag); made.textContent = said; return made; }
  function link(index, at) {
    const name = index.layer[at] + ":" + index.unit[at], file = index.layer[at] + "-" + index.unit[at];
    const made = text("a", name);
    made.href = root + (index.pages.includes(file) ? "neurons/" + file + ".html#" + index.pole[at] : "index.html#" + file);
    return made;
  }
  // Postings are gaps between ascending places, in base 36.
  function places(packed) { let at = -1; return packed.split(" ").map(gap => at += parseInt(gap, 36)); }
  function search(index, asked) {
    const wanted = asked.toLowerCase(), best = new Map();
    index.text.forEach((said, at) => { if (said.toLowerCase().includes(wanted)) best.set(at, said); });
    for (const [kind, terms] of Object.entries(index.terms)) {
      for (const [term, packed] of Object.entries(terms)) {
        const low = term.toLowerCase();
        const fits = kind === "mark" ? low === wanted : wanted[0] === "(" ? low.includes(wanted) : (" " + low.replace(/[()]/g, "") + " ").includes(" " + wanted + " ");
        if (fits) for (const at of places(packed)) if (!best.has(at)) best.set(at, kind + ": " + term);
      }
    }
    return [...best].sort((a, b) => a[0] - b[0]);
  }
  function neuron(index, layer, unit) {
    const own = [];
    index.layer.forEach((l, at) => { if (l === layer && index.unit[at] === unit) own.push([at, index.text[at]]); });
    return own;
  }
  function show(index, rows, asked) {
    found.textContent = "";
    const total = rows.length.toLocaleString("en"), shown = Math.min(rows.length, MOST);
    found.append(text("p", rows.length ? (rows.length > MOST ? shown + " of " + total : total) + " found for " + asked + (rows.length > 1 ? ", by the score above the matched set" : "") : "Nothing was found for " + asked + ". The index has each neuron's explanation and its strongest words, tags, subtrees and marks."));
    found.firstChild.setAttribute("role", "status");
    const list = document.createElement("ol");
    for (const [at, said] of rows.slice(0, MOST)) {
      const item = document.createElement("li"), bdi = text("bdi", said || "no explanation that holds"), own = index.text[at];
      if (said === own) inItalics(bdi);
      const pole = text("span", index.pole[at] === "top" ? "highest" : "lowest"); pole.className = "kind";
      item.append(link(index, at), " ", pole, " ", bdi);
      if (own && own !== said) { const more = document.createElement("small"), told = text("bdi", own); inItalics(told); more.append(told); item.append(" ", more); }
      list.append(item);
    }
    found.append(list);
    found.hidden = false;
  }
  function ask(goes) {
    const asked = place.value.trim().replace(/\s+/g, " "), named = /^(\d+):(\d+)$/.exec(asked);
    if (!asked) { found.hidden = true; return; }
    load().then(index => {
      if (place.value.trim().replace(/\s+/g, " ") !== asked) return;
      if (!named) { show(index, search(index, asked), asked); return; }
      const rows = neuron(index, +named[1], +named[2]);
      if (goes && rows.length) location.href = link(index, rows[0][0]).href.replace(/(\.html)#(top|bottom)$/, "$1");
      show(index, rows, asked);
    }, () => { found.textContent = "The index of the search is not there: " + form.dataset.index; found.hidden = false; });
  }
  place.addEventListener("focus", load, { once: true });
  place.addEventListener("input", () => ask(false));
  place.addEventListener("keydown", e => { if (e.key === "Escape") found.hidden = true; });
  form.addEventListener("submit", e => { e.preventDefault(); ask(true); });
  window.atlasNeuron = (layer, unit) => load().then(index => neuron(index, layer, unit).map(row => [index.pole[row[0]], row[1]]));
})();

// The map of the overview: a canvas cell for each neuron, by mouse and by keyboard.
(function () {
  const held = document.getElementById("map-data");
  if (!held) return;
  document.getElementById("map-alive").hidden = false;
  const data = JSON.parse(held.textContent);
  const canvas = document.getElementById("atlas-map"), paint = canvas.getContext("2d");
  const property = document.getElementById("property"), pole = document.getElementById("pole");
  const legend = document.getElementById("legend"), cell = document.getElementById("cell");
  const pages = new Set(data.pages), widest = Math.max(...data.widths);
  const starts = data.widths.map((_, i) => data.widths.slice(0, i).reduce((a, b) => a + b, 0));
  // Okabe and Ito's colours, which the colour-blind can tell; the last is for all other names.
  const names = ["#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#8C6BB1", "#999999"];
  // Viridis at five places.
  const ramp = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  const w = Math.max(2, Math.min(4, Math.floor(1100 / widest))), h = 16, edge = 3;
  let chosen = null;

  function option(select, value, text) { const o = document.createElement("option"); o.value = value; o.textContent = text; select.append(o); }
  for (const [name, p] of Object.entries(data.properties)) option(property, name, p.title);
  for (const name of data.poles) option(pole, name, name === "top" ? "highest" : "lowest");

  function mix(t) {
    const at = Math.min(Math.max(t, 0), 1) * (ramp.length - 1), i = Math.min(Math.floor(at), ramp.length - 2), f = at - i;
    return "rgb(" + ramp[i].map((c, k) => Math.round(c + f * (ramp[i + 1][k] - c))).join(",") + ")";
  }
  function range(values) {
    const sorted = values.filter(v => v !== null).sort((a, b) => a - b);
    const at = q => sorted[Math.round(q * (sorted.length - 1))];
    return [at(0.01), at(0.99)];
  }
  function draw() {
    const own = data.properties[property.value], values = own.values[pole.value];
    canvas.width = widest * w + 2 * edge; canvas.height = data.widths.length * (h + 2) + 2 * edge;
    legend.textContent = "";
    const [low, high] = own.names ? [0, 0] : range(values);
    data.widths.forEach((width, layer) => {
      for (let unit = 0; unit < width; unit++) {
        const v = values[starts[layer] + unit];
        paint.fillStyle = v === null ? "#80808040" : own.names ? names[Math.min(v, data.colours)] : mix((v - low) / (high - low || 1));
        paint.fillRect(edge + unit * w, edge + layer * (h + 2), w, h);
      }
    });
    const said = own.names ? own.names.slice(0, data.colours).map((n, i) => [names[i], n]) : [[mix(0), low + " and less"], [mix(0.5), String(Math.round(500 * (low + high)) / 1000)], [mix(1), high + " and more"]];
    if (own.names && own.names.length > data.colours) said.push([names[data.colours], "others"]);
    if (values.includes(null)) said.push(["#80808040", "not known"]);
    for (const [colour, text] of said) {
      const s = document.createElement("span"), i = document.createElement("i");
      i.style.background = colour; s.append(i, text); legend.append(s);
    }
    if (chosen) outline();
  }
  function outline() {
    paint.lineWidth = 2; paint.strokeStyle = "#ff0066";
    paint.strokeRect(edge + chosen[1] * w - 2, edge + chosen[0] * (h + 2) - 2, w + 4, h + 4);
  }
  function name(at) { return (at[0] + data.layer) + "-" + at[1]; }
  function choose(at) {
    if (!at) return;
    chosen = at; draw();
    const own = data.properties[property.value], v = own.values[pole.value][starts[at[0]] + at[1]];
    const shown = v === null ? "not known" : own.names ? own.names[v] : v, label = (at[0] + data.layer) + ":" + at[1];
    cell.textContent = "Neuron " + label + ", " + own.title + ": " + shown + " ";
    if (data.every || pages.has(name(at))) {
      const a = document.createElement("a"); a.href = "neurons/" + name(at) + ".html"; a.textContent = "open its page"; cell.append(a);
    } else {
      cell.append("(no page here: name it, atlas report --neurons " + label + ")");
    }
  }
  function open() { const a = cell.querySelector("a"); if (a) location.href = a.href; }
  function under(event) {
    const box = canvas.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * canvas.width - edge, y = (event.clientY - box.top) / box.height * canvas.height - edge;
    const unit = Math.floor(x / w), layer = Math.floor(y / (h + 2));
    return layer >= 0 && layer < data.widths.length && unit >= 0 && unit < data.widths[layer] ? [layer, unit] : null;
  }
  // A link to a neuron without a page leads here: its sentences stand below the map.
  function named() {
    const given = /^#(\d+)-(\d+)$/.exec(location.hash);
    const at = given && [given[1] - data.layer, +given[2]];
    if (!at || !(at[1] < data.widths[at[0]])) return;
    choose(at);
    document.getElementById("map").scrollIntoView();
    canvas.focus({ preventScroll: true });
    if (window.atlasNeuron) window.atlasNeuron(at[0] + data.layer, at[1]).then(rows => {
      if (!chosen || name(chosen) !== name(at)) return;
      for (const [pole, said] of rows) if (said) { const p = document.createElement("p"), b = document.createElement("bdi"); b.textContent = said; inItalics(b); p.append((pole === "top" ? "Highest: " : "Lowest: "), b); cell.append(p); }
    }, () => {});
  }
  canvas.addEventListener("mousemove", e => { const at = under(e); if (at && (!chosen || name(at) !== name(chosen))) choose(at); });
  canvas.addEventListener("click", e => { const at = under(e); choose(at); if (at) open(); });
  canvas.addEventListener("keydown", e => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (move) {
      e.preventDefault();
      const from = chosen || [0, 0], layer = Math.min(Math.max(from[0] + move[0], 0), data.widths.length - 1);
      choose([layer, Math.min(Math.max(from[1] + move[1], 0), data.widths[layer] - 1)]);
    } else if (e.key === "Enter" && chosen) open();
  });
  property.addEventListener("change", draw); pole.addEventListener("change", draw);
  window.addEventListener("hashchange", named);
  draw(); named();
})();

// What an explanation quotes between stars stands in italics; the stars are still there for whoever copies the text.
function inItalics(told) {
  const parts = told.textContent.split("*");
  if (parts.length < 3 || parts.length % 2 === 0) return;
  told.textContent = "";
  parts.forEach((part, i) => {
    if (i % 2 === 0) { told.append(part); return; }
    const em = document.createElement("em"), star = document.createElement("span");
    star.className = "star"; star.textContent = "*";
    em.append(star, part, star.cloneNode(true)); told.append(em);
  });
}
document.querySelectorAll("bdi.told").forEach(inItalics);

// A finding becomes a button: pressed, it marks the sentences that have it; pressed again, none.
for (const plain of document.querySelectorAll("span.pattern")) {
  const button = document.createElement("button");
  button.type = "button"; button.className = "pattern"; button.setAttribute("aria-pressed", "false");
  Object.assign(button.dataset, plain.dataset);
  button.append(...plain.childNodes);
  plain.replaceWith(button);
  button.addEventListener("click", () => {
    const pole = button.dataset.pole, on = button.getAttribute("aria-pressed") !== "true", own = '[data-pole="' + pole + '"]';
    for (const other of document.querySelectorAll("button.pattern" + own)) other.setAttribute("aria-pressed", "false");
    for (const before of document.querySelectorAll(".shown" + own)) before.remove();
    button.setAttribute("aria-pressed", String(on));
    const ranks = new Set(button.dataset.winners.split(" ")), lists = [...document.querySelectorAll("ol.winners" + own)];
    const items = lists.flatMap(list => [...list.children]), matched = on ? items.filter(item => ranks.has(item.dataset.rank)) : [];
    for (const list of lists) list.classList.toggle("marked", on);
    for (const item of items) item.classList.toggle("match", matched.includes(item));
    const said = on ? matched.length + " of these " + items.length + " sentences have it" : "";
    document.querySelector("p.chosen" + own).textContent = said;
    if (!on) return;
    if (matched.length && !matched.some(item => !item.closest("details.rest"))) lists[lists.length - 1].closest("details").open = true;
    // On a phone the list stands above; the first that have it are repeated here.
    const shown = document.createElement("ul"), head = document.createElement("li");
    shown.className = "shown"; shown.dataset.pole = pole; head.textContent = said + (matched.length > 3 ? ", such as" : ""); shown.append(head);
    for (const item of matched.slice(0, 3)) { const copy = document.createElement("li"); copy.append(...[...item.querySelectorAll(".text")].map(text => text.cloneNode(true))); shown.append(copy); }
    button.closest("li").append(shown);
  });
}

// A link to the other pole opens what folds it.
(function () {
  function reveal() {
    const at = location.hash.length > 1 && document.getElementById(location.hash.slice(1)), folded = at && at.closest("details");
    if (folded && !folded.open) { folded.open = true; at.scrollIntoView(); }
  }
  window.addEventListener("hashchange", reveal);
  reveal();
})();

// On a phone a table's rows stand as blocks, each cell with its heading.
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.querySelectorAll("thead th")].map(head => head.textContent);
  if (!heads.length) continue;
  table.classList.add("stacked");
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.head = heads[i]; });
}
