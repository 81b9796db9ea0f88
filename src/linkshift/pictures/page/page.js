
// Everything is drawn already: this adds what moves, that is hovering and the legend.
(function () {
  "use strict";
  var plot = document.getElementById("scatter");
  var data = JSON.parse(document.getElementById("data").textContent);
  var svg = plot.querySelector("svg");
  var dots = Array.from(svg.querySelectorAll(".dots"));
  var lines = Array.from(svg.querySelectorAll("[data-l]"));
  var ends = svg.querySelector(".ends");
  var halo = svg.querySelector(".halo");
  var size = svg.viewBox.baseVal;
  var x = [], y = [], cluster = [], linksOf = {};
  var only = null, hidden = {};

  dots.forEach(function (path) {
    path.getAttribute("d").slice(1).split("M").forEach(function (piece) {
      var at = piece.split("h")[0].split(" ");
      x.push(Number(at[0]));
      y.push(Number(at[1]));
      cluster.push(Number(path.dataset.c));
    });
  });
  data.links.forEach(function (group, l) {
    for (var k = 0; k < group.pairs.length; k += 2) {
      [[0, 1], [1, 0]].forEach(function (way) {
        var from = group.pairs[k + way[0]], to = group.pairs[k + way[1]];
        (linksOf[from] = linksOf[from] || []).push({ l: l, from: from, to: to });
      });
    }
  });

  function line(a, b) {
    return "M" + x[a] + " " + y[a] + "L" + x[b] + " " + y[b];
  }
  function cross(a, b) {
    var r = data.cross, u = Math.round((x[a] + x[b]) / 2), v = Math.round((y[a] + y[b]) / 2);
    return "M" + (u - r) + " " + (v - r) + "l" + 2 * r + " " + 2 * r +
      "m0 " + -2 * r + "l" + -2 * r + " " + 2 * r;
  }
  function isShown(l, a, b) {
    return !hidden[l] && (only === null || cluster[a] === only || cluster[b] === only);
  }

  function refresh() {
    var seen = {};
    svg.classList.toggle("alone", only !== null);
    dots.forEach(function (path) {
      path.classList.toggle("picked", Number(path.dataset.c) === only);
    });
    lines.forEach(function (path) {
      var l = Number(path.dataset.l), pairs = data.links[l].pairs, d = "";
      var shape = path.dataset.shape === "cross" ? cross : line;
      for (var k = 0; k < pairs.length; k += 2) {
        if (isShown(l, pairs[k], pairs[k + 1])) {
          d += shape(pairs[k], pairs[k + 1]);
          seen[pairs[k]] = seen[pairs[k + 1]] = true;
        }
      }
      path.setAttribute("d", d);
    });
    if (ends) {
      ends.setAttribute("d", Object.keys(seen).filter(function (i) {
        return only === null || cluster[i] === only;
      }).map(function (i) { return "M" + x[i] + " " + y[i] + "h0"; }).join(""));
    }
    document.querySelectorAll("button[data-only]").forEach(function (button) {
      var c = Number(button.dataset.only);
      button.setAttribute("aria-pressed", String(only === c));
      button.classList.toggle("off", only !== null && only !== c);
    });
    document.querySelectorAll("button[data-hide]").forEach(function (button) {
      var off = Boolean(hidden[button.dataset.hide]);
      button.setAttribute("aria-pressed", String(!off));
      button.classList.toggle("off", off);
    });
    leave();
  }

  document.querySelectorAll("button[data-only]").forEach(function (button) {
    button.addEventListener("click", function () {
      var c = Number(button.dataset.only);
      only = only === c ? null : c;
      refresh();
    });
  });
  document.querySelectorAll("button[data-hide]").forEach(function (button) {
    button.addEventListener("click", function () {
      hidden[button.dataset.hide] = !hidden[button.dataset.hide];
      refresh();
    });
  });

  var tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  plot.appendChild(tip);
  var lit = [];

  function leave() {
    tip.hidden = true;
    halo.setAttribute("d", "");
    lit.forEach(function (path) { path.remove(); });
    lit = [];
  }
  function say(words) {
    var row = document.createElement("div");
    row.textContent = words;
    tip.appendChild(row);
  }
  function nameOf(i) {
    return data.ids ? data.ids[i] : "row " + data.rows[i];
  }
  function show(i, box) {
    var mine = (linksOf[i] || []).filter(function (link) { return !hidden[link.l]; });
    leave();
    tip.textContent = "";
    say(nameOf(i));
    if (data.ids) { say("row " + data.rows[i]); }
    if (data.words) { say(data.words[i]); }
    say(data.clusters[cluster[i]]);
    mine.forEach(function (link, k) {
      var group = data.links[link.l];
      var path = document.createElementNS(svg.namespaceURI, "path");
      path.setAttribute("class", group.kind + " lit");
      path.setAttribute("d", line(link.from, link.to));
      halo.before(path);
      lit.push(path);
      if (k < 8) {
        say(group.kind + "-link with " + nameOf(link.to) + (group.kept ? "" : ", violated"));
      }
    });
    if (mine.length > 8) { say("and " + (mine.length - 8) + " links more"); }
    halo.setAttribute("d", "M" + x[i] + " " + y[i] + "h0");
    tip.hidden = false;
    var left = x[i] / size.width * box.width, top = y[i] / size.height * box.height;
    // Kept within the picture, so that nothing scrolls.
    left = left + 12 + tip.offsetWidth > box.width ? left - 12 - tip.offsetWidth : left + 12;
    tip.style.left = Math.max(0, Math.min(left, box.width - tip.offsetWidth)) + "px";
    tip.style.top = Math.max(0, Math.min(top + 8, box.height - tip.offsetHeight)) + "px";
  }
  function find(event) {
    var box = svg.getBoundingClientRect();
    var u = (event.clientX - box.left) / box.width * size.width;
    var v = (event.clientY - box.top) / box.height * size.height;
    var best = -1, reach = 16 / box.width * size.width, least = reach * reach;
    for (var i = 0; i < x.length; i++) {
      if (only !== null && cluster[i] !== only) { continue; }
      var far = (x[i] - u) * (x[i] - u) + (y[i] - v) * (y[i] - v);
      if (far <= least) { least = far; best = i; }
    }
    if (best < 0) { leave(); } else { show(best, box); }
  }
  svg.addEventListener("pointermove", find);
  svg.addEventListener("pointerdown", find);
  svg.addEventListener("pointerleave", leave);
  document.querySelectorAll(".hint").forEach(function (hint) { hint.hidden = false; });
}());
