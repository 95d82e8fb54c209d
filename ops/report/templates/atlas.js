"use strict";
// The map of the overview: a canvas cell for each neuron, by mouse and by keyboard.
(function () {
  const held = document.getElementById("map-data");
  if (!held) return;
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
  const w = Math.max(2, Math.min(4, Math.floor(1100 / widest))), h = 16;
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
    canvas.width = widest * w; canvas.height = data.widths.length * (h + 2);
    legend.textContent = "";
    const [low, high] = own.names ? [0, 0] : range(values);
    data.widths.forEach((width, layer) => {
      for (let unit = 0; unit < width; unit++) {
        const v = values[starts[layer] + unit];
        paint.fillStyle = v === null ? "#80808040" : own.names ? names[Math.min(v, data.colours)] : mix((v - low) / (high - low || 1));
        paint.fillRect(unit * w, layer * (h + 2), w, h);
      }
    });
    const said = own.names ? own.names.slice(0, data.colours).map((n, i) => [names[i], n]) : [[mix(0), low + " and less"], [mix(0.5), String(Math.round(500 * (low + high)) / 1000)], [mix(1), high + " and more"]];
    if (own.names && own.names.length > data.colours) said.push([names[data.colours], "others"]);
    for (const [colour, text] of said) {
      const s = document.createElement("span"), i = document.createElement("i");
      i.style.background = colour; s.append(i, text); legend.append(s);
    }
    if (chosen) outline();
  }
  function outline() {
    paint.lineWidth = 2; paint.strokeStyle = "#ff0066";
    paint.strokeRect(chosen[1] * w - 1, chosen[0] * (h + 2) - 1, w + 2, h + 2);
  }
  function name(at) { return (at[0] + data.layer) + "-" + at[1]; }
  function choose(at) {
    if (!at) return;
    chosen = at; draw();
    const own = data.properties[property.value], v = own.values[pole.value][starts[at[0]] + at[1]];
    const shown = v === null ? "not known" : own.names ? own.names[v] : v;
    cell.textContent = "Neuron " + (at[0] + data.layer) + ":" + at[1] + ", " + own.title + ": " + shown + " ";
    if (data.every || pages.has(name(at))) {
      const a = document.createElement("a"); a.href = "neurons/" + name(at) + ".html"; a.textContent = "open its page"; cell.append(a);
    } else {
      cell.append("(no page here: name it, python -m jobs.report --neurons " + (at[0] + data.layer) + ":" + at[1] + ")");
    }
  }
  function open() { const a = cell.querySelector("a"); if (a) location.href = a.href; }
  function under(event) {
    const box = canvas.getBoundingClientRect();
    const unit = Math.floor((event.clientX - box.left) / box.width * widest), layer = Math.floor((event.clientY - box.top) / box.height * data.widths.length);
    return layer >= 0 && layer < data.widths.length && unit >= 0 && unit < data.widths[layer] ? [layer, unit] : null;
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
  draw();
})();

// A pattern's button shows the winners that contain it; pressed again, all.
for (const button of document.querySelectorAll("button.pattern")) {
  button.addEventListener("click", () => {
    const pole = button.dataset.pole, on = button.getAttribute("aria-pressed") !== "true";
    for (const other of document.querySelectorAll('button.pattern[data-pole="' + pole + '"]')) other.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", String(on));
    const ranks = new Set(button.dataset.winners.split(" ")), list = document.querySelector('ol.winners[data-pole="' + pole + '"]');
    list.classList.toggle("filtered", on);
    for (const item of list.children) item.classList.toggle("match", ranks.has(item.dataset.rank));
    document.querySelector('p.chosen[data-pole="' + pole + '"]').textContent = on
      ? list.querySelectorAll(".match").length + " of the winners listed here contain it; press the pattern again for all."
      : "Choose a pattern above to see which of these contain it.";
  });
}
