// What stands out on the map: the pair being asked, links, a path, rings, the lasso. A 2-D canvas
// above the points, drawn anew in each frame.

import { linkColour } from "./colours.js";

const INKS = {
  light: { ink: "#1F2328", paper: "#FFFFFF", accent: "#0B57D0" },
  dark: { ink: "#F3F3EF", paper: "#1B1E23", accent: "#8AB4F8" },
};

/** Draw marks with `at(row)`, which gives a row's place in pixels or null where it has none. */
export function drawMarks(context, size, marks, at) {
  const tones = INKS[marks.isDark ? "dark" : "light"];
  context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  context.lineJoin = context.lineCap = "round";
  drawLinks(context, marks, tones, at);
  drawPath(context, marks, tones, at);
  drawPair(context, marks, tones, at);
  if (marks.selected.length === 1) ring(context, at(marks.selected[0]), marks.radius + 4, 2.5, tones);
  if (marks.cursor !== null) ring(context, at(marks.cursor), marks.radius + 7, 2, tones, tones.accent);
  if (marks.hovered !== null) ring(context, at(marks.hovered), marks.radius + 3, 1.75, tones);
  if (marks.lasso) drawLasso(context, marks.lasso, tones);
}

// Lines over many points need a halo, or they are lost in them.
function stroke(context, colour, width, paper, dash = []) {
  context.setLineDash([]);
  context.strokeStyle = paper;
  context.globalAlpha = 0.75;
  context.lineWidth = width + 2.5;
  context.stroke();
  context.globalAlpha = 1;
  context.setLineDash(dash);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke();
  context.setLineDash([]);
}

function drawLinks(context, { links, isDark, radius }, tones, at) {
  for (const word of ["different", "same"]) {
    const ends = [];
    context.beginPath();
    for (const link of links) {
      const isSame = link.word === "same" || link.word === "must";
      if (isSame !== (word === "same") || link.word === "unknown") continue;
      const a = at(link.a), b = at(link.b);
      if (!a || !b) continue;
      context.moveTo(...a);
      context.lineTo(...b);
      ends.push(a, b);
    }
    const colour = linkColour(word, isDark);
    stroke(context, colour, 2, tones.paper, word === "same" ? [] : [6, 5]);
    context.beginPath();
    for (const [x, y] of ends) circle(context, x, y, Math.max(radius * 0.8, 2.5));
    context.fillStyle = colour;
    context.fill();
  }
}

function drawPath(context, { path, radius }, tones, at) {
  const places = path.map(at).filter((place) => place);
  if (places.length === 0) return;
  context.beginPath();
  places.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  stroke(context, tones.accent, 2.5, tones.paper);
  context.beginPath();
  for (const [x, y] of places) circle(context, x, y, Math.max(radius * 0.9, 3));
  context.fillStyle = tones.paper;
  context.fill();
  context.lineWidth = 1.75;
  context.strokeStyle = tones.accent;
  context.stroke();
}

function drawPair(context, { pair, pulse, radius }, tones, at) {
  const places = pair ? pair.map(at) : [];
  if (!places.length || places.some((place) => !place)) return;
  const own = radius + 6 + 26 * (1 - pulse);
  const [a, b] = places;
  const away = Math.hypot(b[0] - a[0], b[1] - a[1]);
  if (away > 2 * own) {
    const ux = ((b[0] - a[0]) / away) * own, uy = ((b[1] - a[1]) / away) * own;
    context.beginPath();
    context.moveTo(a[0] + ux, a[1] + uy);
    context.lineTo(b[0] - ux, b[1] - uy);
    stroke(context, tones.ink, 1.75, tones.paper);
  }
  for (const place of places) {
    ring(context, place, own, 2.75, tones);
    context.beginPath();
    circle(context, place[0], place[1], 1.75);
    context.fillStyle = tones.ink;
    context.fill();
  }
}

function ring(context, place, radius, width, tones, colour = tones.ink) {
  if (!place) return;
  context.beginPath();
  circle(context, place[0], place[1], radius);
  stroke(context, colour, width, tones.paper);
}

function circle(context, x, y, radius) {
  context.moveTo(x + radius, y);
  context.arc(x, y, radius, 0, 2 * Math.PI);
}

function drawLasso(context, places, tones) {
  context.beginPath();
  places.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.globalAlpha = 0.12;
  context.fillStyle = tones.accent;
  context.fill();
  context.globalAlpha = 1;
  stroke(context, tones.accent, 1.75, tones.paper, [5, 4]);
}
