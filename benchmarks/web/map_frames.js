// Moves the map of /static/map.js as a person would, and times what that costs.

import { Scatter } from "/static/map.js";

const MOST_AWAY = 40; // frames of zooming in before zooming out again

// Requests of the map itself are timed, ours are not.
const request = window.requestAnimationFrame.bind(window);
let spent = [];
let context = null;
window.requestAnimationFrame = (frame) => request((now) => {
  const start = performance.now();
  frame(now);
  spent.push(performance.now() - start);
});

/** Milliseconds and frames of n rows in k clusters, moved for so many seconds. */
window.measure = async (n, k, seconds, hasWebgl) => {
  context ??= HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
    return kind === "webgl2" && !hasWebgl ? null : context.call(this, kind, ...rest);
  };
  document.querySelector("div").replaceChildren(document.createElement("canvas"));
  const canvas = document.querySelector("canvas");
  const { xy, labels, others } = rows(n, k);
  const open = timed(() => {
    window.map = new Scatter(canvas);
    window.map.setPositions(xy);
    window.map.setLabels(labels);
  });
  await rest(600);
  const relabel = timed(() => window.map.setLabels(others));
  await rest(900);
  timed(() => window.map.rowAt([600, 400])); // makes the grid
  const hover = timed(() => {
    for (let i = 0; i < 200; i++) window.map.rowAt([(i * 97) % 1200, (i * 61) % 800]);
  }) / 200;
  const lasso = timed(() => window.map.lassoed(circle(600, 400, 250), false));
  const moved = await move(canvas, seconds);
  window.map.destroy();
  return { open, relabel, hover, lasso, ...moved };
};

async function move(canvas, seconds) {
  spent = [];
  const heard = [];
  const begin = performance.now();
  let frames = 0;
  while (performance.now() - begin < 1000 * seconds) {
    heard.push(timed(() => canvas.dispatchEvent(what(frames))));
    frames++;
    await new Promise((next) => request(next));
  }
  const elapsed = (performance.now() - begin) / 1000;
  const sums = spent.map((value, i) => value + (heard[i] ?? 0)).sort((a, b) => a - b);
  const quantile = (q) => sums[Math.min(sums.length - 1, Math.floor(q * sums.length))];
  return {
    frames: frames / elapsed,
    median: quantile(0.5),
    late: quantile(0.95),
    worst: sums[sums.length - 1],
    n_frames: frames,
  };
}

// In and out again with the wheel, and to all sides with the keys.
function what(frame) {
  if (frame % 4 === 3) {
    const key = ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"][(frame >> 2) % 4];
    return new KeyboardEvent("keydown", { key });
  }
  const deltaY = Math.floor(frame / MOST_AWAY) % 2 ? 60 : -60;
  return new WheelEvent("wheel", { deltaY, clientX: 500, clientY: 420, cancelable: true });
}

function rows(n, k) {
  let state = 12345;
  const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const middles = Array.from({ length: k }, () => [12 * random(), 8 * random()]);
  const xy = new Float32Array(2 * n);
  const labels = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    labels[i] = Math.floor(k * random());
    xy[2 * i] = middles[labels[i]][0] + 0.6 * normal();
    xy[2 * i + 1] = middles[labels[i]][1] + 0.6 * normal();
  }
  return { xy, labels, others: labels.map((label) => (label + 1) % k) };
}

function circle(x, y, radius) {
  return Array.from({ length: 300 }, (_, i) => {
    const angle = (2 * Math.PI * i) / 300;
    return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
  });
}

function timed(run) {
  const start = performance.now();
  run();
  return performance.now() - start;
}

function rest(milliseconds) {
  return new Promise((next) => setTimeout(next, milliseconds));
}

window.isReady = true;
