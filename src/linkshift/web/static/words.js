// What differs between two texts: the longest common subsequence of their words, or letters.

const CELLS = 4e6; // of the table of lengths; larger texts are cut at words that occur once in both
const PIECES = /\p{L}[\p{L}\p{M}\p{N}'’_-]*|\p{N}+(?:[.,]\p{N}+)*|\s+|[^]/gu;

/**
 * Runs of two texts: {a: [[text, common], ...], b: [...], share}, where `share` is the part of the
 * letters that are common. `by` is "words" or "letters".
 */
export function differences(a, b, by = "words") {
  const [one, other] = [pieces(a, by), pieces(b, by)];
  const [keepA, keepB] = [new Uint8Array(one.length), new Uint8Array(other.length)];
  match(one, 0, one.length, other, 0, other.length, keepA, keepB);
  const common = one.reduce((sum, word, i) => sum + (keepA[i] && word.trim() ? word.length : 0), 0);
  const letters = (words) => words.reduce((sum, word) => sum + (word.trim() ? word.length : 0), 0);
  return {
    a: runs(one, keepA),
    b: runs(other, keepB),
    share: common / Math.max(1, letters(one), letters(other)),
  };
}

function pieces(text, by) {
  if (by === "letters") return Array.from(text);
  return text.match(PIECES) ?? [];
}

/** Mark what is common of a[i0, i1) and b[j0, j1). */
function match(a, i0, i1, b, j0, j1, keepA, keepB) {
  while (i0 < i1 && j0 < j1 && a[i0] === b[j0]) keepA[i0++] = keepB[j0++] = 1;
  while (i0 < i1 && j0 < j1 && a[i1 - 1] === b[j1 - 1]) keepA[--i1] = keepB[--j1] = 1;
  const [n, m] = [i1 - i0, j1 - j0];
  if (!n || !m) return;
  if (n * m <= CELLS) return byTable(a, i0, n, b, j0, m, keepA, keepB);
  const fixed = anchors(a, i0, i1, b, j0, j1);
  if (!fixed.length) return byCounts(a, i0, i1, b, j0, j1, keepA, keepB);
  let [i, j] = [i0, j0];
  for (const [p, q] of fixed) {
    match(a, i, p, b, j, q, keepA, keepB);
    keepA[p] = keepB[q] = 1;
    [i, j] = [p + 1, q + 1];
  }
  match(a, i, i1, b, j, j1, keepA, keepB);
}

function byTable(a, i0, n, b, j0, m, keepA, keepB) {
  const wide = m + 1;
  const longest = new Uint16Array((n + 1) * wide); // n * m <= 4e6: no length is above 2,000
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--)
      longest[i * wide + j] =
        a[i0 + i] === b[j0 + j]
          ? longest[(i + 1) * wide + j + 1] + 1
          : Math.max(longest[(i + 1) * wide + j], longest[i * wide + j + 1]);
  for (let i = 0, j = 0; i < n && j < m; ) {
    if (a[i0 + i] === b[j0 + j]) keepA[i0 + i++] = keepB[j0 + j++] = 1;
    else if (longest[(i + 1) * wide + j] >= longest[i * wide + j + 1]) i++;
    else j++;
  }
}

/** Words that occur once in both, in the longest order that both have: "patience". */
function anchors(a, i0, i1, b, j0, j1) {
  const [inA, inB] = [places(a, i0, i1), places(b, j0, j1)];
  const both = [];
  for (const [word, i] of inA) if (i >= 0 && (inB.get(word) ?? -1) >= 0) both.push([i, inB.get(word)]);
  both.sort((p, q) => p[0] - q[0]);
  const [ends, before] = [[], new Int32Array(both.length).fill(-1)];
  both.forEach(([, j], at) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (both[ends[middle]][1] < j) low = middle + 1;
      else high = middle;
    }
    if (low) before[at] = ends[low - 1];
    ends[low] = at;
  });
  const found = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = before[at]) found.push(both[at]);
  return found.reverse();
}

function places(words, start, end) {
  const found = new Map();
  for (let i = start; i < end; i++) found.set(words[i], found.has(words[i]) ? -1 : i);
  return found;
}

/** No order to be found in reasonable time: a word is common as often as both have it. */
function byCounts(a, i0, i1, b, j0, j1, keepA, keepB) {
  const left = new Map();
  for (let j = j1 - 1; j >= j0; j--) {
    if (left.has(b[j])) left.get(b[j]).push(j);
    else left.set(b[j], [j]);
  }
  for (let i = i0; i < i1; i++) {
    const j = left.get(a[i])?.pop();
    if (j !== undefined) keepA[i] = keepB[j] = 1;
  }
}

/** Join neighbours of one kind; a gap between two differing words differs as they do. */
function runs(words, keep) {
  const found = [];
  words.forEach((word, i) => {
    const gap = !word.trim() && i > 0 && i + 1 < words.length && !keep[i - 1] && !keep[i + 1];
    const same = Boolean(keep[i]) && !gap;
    if (found.length && found.at(-1)[1] === same) found.at(-1)[0] += word;
    else found.push([word, same]);
  });
  return found;
}
