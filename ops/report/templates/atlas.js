"use strict";
// What is alive on a page only with this script stands there hidden, or as plain text, until it runs.

// The columns of a list can be sorted: numbers from the highest, texts from A; once more turns it round.
function sortable(table) {
  const collator = new Intl.Collator("en", { numeric: true }), heads = [...table.tHead.rows[0].cells];
  const number = text => parseFloat(text.replace(/^[<+]|,/g, ""));
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button"; button.className = "sort"; button.append(...head.childNodes); head.append(button);
    button.addEventListener("click", () => {
      const rows = [...table.tBodies[0].rows], said = row => row.cells[at].textContent.trim();
      const isNumber = rows.every(row => /^(-|[<+-]?[\d.,]+(e-?\d+)?( of .*| %)?)$/.test(said(row)));
      const first = isNumber ? "descending" : "ascending", other = isNumber ? "ascending" : "descending";
      const way = head.getAttribute("aria-sort") === first ? other : first, sign = way === "ascending" ? 1 : -1;
      const known = rows.filter(row => said(row) !== "-"), unknown = rows.filter(row => said(row) === "-");
      known.sort((a, b) => sign * (isNumber ? number(said(a)) - number(said(b)) : collator.compare(said(a), said(b))));
      heads.forEach(one => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", way);
      table.tBodies[0].append(...known, ...unknown);
    });
  });
}

// The search of a static site: the syntax, the evidence and the order of `atlas show --find`.
(function () {
  const place = document.getElementById("find"), form = place && place.form;
  if (!form || !form.dataset.index) return;
  form.hidden = false;
  const found = document.getElementById("found"), root = form.dataset.root, MOST = 100;
  const limits = { lift: ["Lift at least", ">="], q: ["q at most", "<="] }, out = document.createElement("div");
  const compare = { ">=": (a, b) => a >= b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, "<": (a, b) => a < b };
  let loading = null;

  const bar = document.createElement("p");
  for (const [name, [title]] of Object.entries(limits)) {
    const label = text("label", title + " "), input = document.createElement("input");
    input.size = 5; input.inputMode = "decimal"; input.name = name; label.append(input); bar.append(label, " ");
    input.addEventListener("input", () => ask(false));
  }
  found.append(bar, out);

  // The index is a script, because a page on disk may load nothing else; it holds base64 of gzip of JSON.
  function load() {
    loading = loading || new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = form.dataset.index;
      script.onload = done; script.onerror = failed;
      document.head.append(script);
    }).then(() => {
      const packed = new Blob([Uint8Array.from(atob(window.atlasIndex), letter => letter.charCodeAt(0))]);
      return new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).json();
    });
    return loading;
  }
  function text(tag, said) { const made = document.createElement(tag); made.textContent = said; return made; }
  function say(said) { out.replaceChildren(said); found.hidden = false; }
  function link(index, at) {
    const file = index.layer[at] + "-" + index.unit[at], made = text("a", index.layer[at] + ":" + index.unit[at] + " " + index.pole[at]);
    made.href = root + (index.pages.includes(file) ? "neurons/" + file + ".html#" + index.pole[at] : "index.html#" + file);
    return made;
  }
  function named(said) { return said.toLowerCase().replace(/(\w)[-_](\w)/g, "$1 $2").trim(); }
  function has(whole, part) { return (" " + whole + " ").includes(" " + part + " "); }

  // A query, or what is wrong with it: see ops/facts/query.py.
  function parse(index, written) {
    const asked = { text: "", kind: "", numbers: [] }, quoted = new RegExp(index.quoted).exec(written);
    let rest = quoted ? written.slice(0, quoted.index) + " " + written.slice(quoted.index + quoted[0].length) : written;
    for (const [, name, sign, value] of rest.matchAll(new RegExp(index.filter, "g"))) {
      const given = name + ":" + (sign || "") + value, known = index.choices[name], low = value.toLowerCase();
      if (!(name in index.numbers)) {
        if (sign) return { wrong: given + " compares no number; write " + name + ":VALUE" };
        if (name in asked) return { wrong: name + ": is given twice; give it once" };
        if (known && !known.includes(low)) return { wrong: given + " is unknown; it is one of " + known.join(", ") };
        if (!known && !/^\d{1,4}$/.test(value)) return { wrong: given + " is not the number of a layer; layers count from 1" };
        asked[name] = known ? low : String(+value);
      } else if (!isFinite(value)) return { wrong: given + ": there is no number; write it as " + name + ":" + index.numbers[name] + "0.5" };
      else asked.numbers.push(name === "q" ? [name, byQ(sign || "<="), ofQ(+value)] : [name, compare[sign || index.numbers[name]], +value]);
    }
    rest = rest.replace(new RegExp(index.filter, "g"), " ").trim().replace(/\s+/g, " ");
    const prefix = new RegExp(index.kind).exec(rest);
    if (prefix) { asked.kind = named(prefix[1]).replace(/ /g, "_"); rest = prefix[2]; }
    if (quoted && rest) return { wrong: rest + " next to a quoted text; search for one of them" };
    asked.text = quoted ? quoted[1].trim().replace(/\s+/g, " ") : rest;
    if (!asked.text && (prefix || quoted)) return { wrong: "Write a word or a value after " + (prefix ? prefix[0] : "the filters") };
    if (!asked.text && asked.numbers.some(([name]) => name !== "score")) return { wrong: "A filter by lift, g2 or q needs a word, a tag or a value to search for" };
    if (!asked.text && !asked.verdict && !asked.numbers.length) return { wrong: "Nothing to search for; write a word, a tag, a value or verdict:rule" };
    if (asked.kind && !quoted && /^[<>]=?\s*\d/.test(rest)) return { wrong: prefix[0] + ": compares no number; only " + Object.keys(index.numbers).join(", ") + " are numbers" };
    const kinds = Object.values(index.terms).flatMap(kinds => Object.keys(kinds).map(kind => named(kind).replace(/ /g, "_")));
    if (asked.kind === "text") return { wrong: "Pages on disk do not search sentences; atlas browse and atlas show do" };
    if (asked.kind && !kinds.includes(asked.kind)) return { wrong: asked.kind + ": is no kind or property (" + [...new Set(kinds)].join(", ") + ")" };
    return Object.assign(asked, wanted(index, asked, quoted));
  }
  // The index has -100 times the decimal logarithm of q, rounded down, and so has a limit.
  function ofQ(q) { return Math.floor(-100 * Math.log10(q) + 1e-6); }
  function byQ(sign) { return sign[0] === "<" ? (a, b) => a >= b : (a, b) => a < b; }
  // What the phrase is compared with: see _levels in ops/facts/search.py.
  function wanted(index, asked, quoted) {
    const codes = new Set(Object.values(index.names).flat()), low = asked.text.toLowerCase(), name = named(asked.text);
    const own = asked.kind === "tag" || asked.kind === "subtree" ? asked.text.toUpperCase() : asked.text;
    const isCode = !quoted && !asked.kind && asked.text.split(" ").every(part => /^[A-Z]+$/.test(part) && codes.has(part));
    return { words: isCode ? "" : low, names: quoted ? [name] : [name, name.replace(new RegExp(index.plural), "$1"), name.replace(new RegExp(index.person), "pronoun $1")], codes: quoted ? [] : [own, ...(index.names[name] || [])] };
  }
  // 0 if a term is the phrase, 1 if it contains it, otherwise 2.
  function level(index, asked, form, kind, term) {
    if (form === "words" || form === "group") {
      const low = term.toLowerCase();
      if (!asked.words) return 2;
      if (form === "group") return low.split("|").includes(asked.words) ? 1 : 2;
      return low === asked.words ? 0 : has(low, asked.words) ? 1 : 2;
    }
    if (form === "name") {
      const value = named(term), of = named(kind), isPlace = !asked.kind && index.places.includes(kind);
      if (asked.names.some(name => (name === value && !isPlace) || name === of + " " + value || name === value + " " + of)) return 0;
      return asked.names.some(name => has(of + " " + value + " " + of, name)) ? 1 : 2;
    }
    const codes = term.replace(/[()]/g, ""), [own] = asked.codes;
    if (!asked.codes.length) return 2;
    if (asked.codes.includes(codes) || term === own) return 0;
    return asked.codes.some(code => has(codes, code)) || (own[0] === "(" && term.includes(own)) ? 1 : 2;
  }
  function search(index, asked) {
    const best = new Map();
    const fits = (values) => asked.numbers.every(([name, holds, limit]) => !(name in values) || (values[name] !== null && holds(values[name], limit)));
    for (const [form, kinds] of asked.text ? Object.entries(index.terms) : []) {
      for (const [kind, terms] of Object.entries(kinds)) {
        if (asked.kind && named(kind).replace(/ /g, "_") !== asked.kind) continue;
        for (const [term, entries] of Object.entries(terms)) {
          const near = level(index, asked, form, kind, term), said = kind.replace(/_/g, " ") + ": " + (form === "group" ? term.split("|").slice(0, 3).join(", ") : term);
          for (let from = 0; near < 2 && from < entries.length; from += 4) {
            const [at, g2, lift, q] = entries.slice(from, from + 4), before = best.get(at);
            const row = { at, near, said, g2: g2 / 10, lift: Math.exp(lift / 100), q };
            const isBetter = !before || near < before.near || (near === before.near && (row.g2 > before.g2 || (row.g2 === before.g2 && said < before.said)));
            if (isBetter && fits({ lift: row.lift, q: row.q, g2: row.g2 })) best.set(at, row);
          }
        }
      }
    }
    const rows = asked.text ? [...best.values()] : index.layer.map((_, at) => ({ at, near: 0, g2: 0 }));
    const is = (column, value) => !value || String(column) === value;
    const kept = rows.filter(({ at }) => is(index.layer[at], asked.layer) && is(index.pole[at], asked.pole) && fits({ score: index.score[at] }) && (!asked.verdict || [index.verdict[at], index.across[at]].includes(asked.verdict)));
    const order = at => [index.layer[at], index.unit[at], index.pole[at] === "top" ? 1 : 0];
    const byKey = (a, b) => { const x = order(a), y = order(b); return x[0] - y[0] || x[1] - y[1] || x[2] - y[2]; };
    return asked.text ? kept.sort((a, b) => a.near - b.near || b.g2 - a.g2 || byKey(a.at, b.at)) : kept;
  }
  function neuron(index, layer, unit) {
    const own = [];
    index.layer.forEach((l, at) => { if (l === layer && index.unit[at] === unit) own.push({ at }); });
    return own;
  }
  function show(index, rows, asked) {
    const total = rows.length.toLocaleString("en"), count = rows.length > MOST ? MOST + " of " + total : total;
    const head = text("p", rows.length ? count + " found for " + asked : "Nothing was found for " + asked + ". The index has each neuron's strongest words, tags, subtrees, marks and values; tags and labels have capital letters.");
    head.setAttribute("role", "status");
    say(head);
    if (!rows.length) return;
    const table = document.createElement("table"), heads = rows[0].said ? ["Neuron", "G²", "Lift", "Found", "Explanation"] : ["Neuron", "Explanation"];
    table.createTHead().insertRow().append(...heads.map(title => text("th", title)));
    const cell = (line, name, held) => { const made = line.insertCell(); made.className = name; made.append(held); };
    const body = table.createTBody();
    for (const row of rows.slice(0, MOST)) {
      const line = body.insertRow(), told = text("bdi", index.text[row.at] || "-");
      inItalics(told);
      cell(line, "nowrap", link(index, row.at));
      if (row.said) { cell(line, "r", row.g2.toFixed(1)); cell(line, "r", row.lift.toPrecision(2)); cell(line, "", text("bdi", row.said)); }
      cell(line, "", told);
    }
    stack(table); sortable(table); out.append(table);
  }
  function ask(goes) {
    const written = place.value.trim().replace(/\s+/g, " "), isNeuron = /^(\d+):(\d+)$/.exec(written);
    if (!written) { found.hidden = true; return; }
    load().then(index => {
      if (place.value.trim().replace(/\s+/g, " ") !== written) return;
      if (isNeuron) {
        const rows = neuron(index, +isNeuron[1], +isNeuron[2]);
        if (goes && rows.length) location.href = link(index, rows[0].at).href.replace(/(\.html)#(top|bottom)$/, "$1");
        show(index, rows, written);
        return;
      }
      const own = [...bar.querySelectorAll("input")].filter(input => input.value.trim()).map(input => " " + input.name + ":" + limits[input.name][1] + input.value.trim());
      const asked = parse(index, written + own.join(""));
      if (asked.wrong) say(text("p", asked.wrong)); else show(index, search(index, asked), written);
    }, () => say(text("p", "The index of the search is not there: " + form.dataset.index)));
  }
  place.addEventListener("focus", load, { once: true });
  place.addEventListener("input", () => ask(false));
  place.addEventListener("keydown", e => { if (e.key === "Escape") found.hidden = true; });
  form.addEventListener("submit", e => { e.preventDefault(); ask(true); });
  window.atlasNeuron = (layer, unit) => load().then(index => neuron(index, layer, unit).map(({ at }) => [index.pole[at], index.text[at]]));
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
      // Rows of layers without units are passed over.
      const layers = [...data.widths.keys()].filter(layer => data.widths[layer]), from = chosen || [layers[0], 0];
      const layer = layers[Math.min(Math.max(layers.indexOf(from[0]) + move[0], 0), layers.length - 1)];
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
    const items = lists.flatMap(list => [...list.querySelectorAll(":scope > [data-rank]")]), matched = on ? items.filter(item => ranks.has(item.dataset.rank)) : [];
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
function stack(table) {
  const heads = [...table.querySelectorAll("thead th")].map(head => head.textContent);
  if (!heads.length) return;
  table.classList.add("stacked");
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.head = heads[i]; });
}
document.querySelectorAll("table").forEach(stack);
document.querySelectorAll("table.sortable").forEach(sortable);
