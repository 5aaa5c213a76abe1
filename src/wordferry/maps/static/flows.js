// Why two documents are near: the related relaxed Word Mover's Distance, taken apart. Common mass stays where it is; the
// rest of each word goes to the nearest other word of the other document, at the cost of related words or at c_max.
function bagOf(data, i) {
  const bag = new Map();
  for (let e = data.bag_starts[i]; e < data.bag_starts[i + 1]; e++) bag.set(data.bag_words[e], data.bag_masses[e]);
  return bag;
}

function oneWay(data, from, to) {
  const moves = [];
  for (const [word, mass] of from) {
    const common = Math.min(mass, to.get(word) ?? 0);
    if (common > 0) moves.push({ from: word, to: word, mass: common, distance: 0, cost: 0 });
    const excess = mass - common;
    if (excess <= 0) continue;
    let nearest = -1, least = data.c_max;
    for (let e = data.cost_starts[word]; e < data.cost_starts[word + 1]; e++) {
      const other = data.cost_words[e];
      if (other !== word && to.has(other) && data.cost_values[e] < least) [nearest, least] = [other, data.cost_values[e]];
    }
    moves.push({ from: word, to: nearest, mass: excess, distance: least, cost: excess * least });
  }
  // First what brings the two together: mass that pays much less than it would for a word that is not related.
  const saved = (move) => move.mass * (data.c_max - move.distance);
  return moves.sort((a, b) => saved(b) - saved(a) || b.mass - a.mass || a.from - b.from);
}

const sumOf = (moves) => moves.reduce((sum, move) => sum + move.cost, 0);

// The direction that costs more is the distance.
function flows(data, i, j) {
  const a = bagOf(data, i), b = bagOf(data, j);
  const left = oneWay(data, a, b), right = oneWay(data, b, a);
  const forward = sumOf(left) >= sumOf(right);
  return { forward, moves: forward ? left : right, distance: Math.max(sumOf(left), sumOf(right)) };
}
