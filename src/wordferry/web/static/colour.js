// The colour of a distance: green water is near, red is as far as unrelated words are.

/** A colour between near (0) and far (1); both themes can show it. */
export function colour(share) {
  const t = Math.min(1, Math.max(0, share));
  return `hsl(${Math.round(172 - 160 * t)} ${Math.round(48 + 30 * t)}% ${Math.round(44 + 6 * t)}%)`;
}

const FIXED = { cosine: 1, "tfidf-cosine": 1, "bow-l1": 2, "tfidf-l1": 2 };

/** The distance that counts as "far": c_max for the word distances, the largest value for the others. */
export function farthest(name, cMax) {
  const parts = (name ?? "").split(" + ").map((part) => part.split("*")); // 2*cosine; none of a search by words
  const far = (part) => FIXED[part] ?? (cMax || Math.SQRT2);
  return parts.reduce((sum, part) => sum + (part.length > 1 ? Number(part[0]) : 1) * far(part.at(-1)), 0);
}
