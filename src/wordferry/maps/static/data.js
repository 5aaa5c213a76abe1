// What the page carries, or asks of its own service: texts as JSON and arrays as bytes, both compressed.
async function unpacked(id) {
  const node = document.getElementById(id);
  const packed = node ? Uint8Array.from(atob(node.textContent), (letter) => letter.charCodeAt(0)) : await asked(`api/map/${id}`);
  node?.remove(); // its text would stay in memory beside what is made of it
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

async function readData(tell) {
  if (!document.getElementById("texts")) await untilReady(tell);
  const texts = JSON.parse(new TextDecoder().decode(await unpacked("texts")));
  const buffer = await unpacked("arrays");
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const table = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const base = 8 + Math.ceil(length / 8) * 8;
  const kinds = { Float32Array, Int32Array, Uint32Array };
  const arrays = {};
  for (const { name, kind, start, length: size } of table) arrays[name] = new kinds[kind](buffer, base + start, size);
  const clusters = texts.levels.map((_, depth) => arrays[`cluster_${depth}`]);
  return { ...texts, ...arrays, clusters, neighbours: texts.placed ? arrays.near.length / texts.placed : 0 };
}

// Documents whose text holds every word of a query; a word may be the beginning of a longer one.
function finder(data) {
  const lowered = data.texts.map((text) => text.toLocaleLowerCase());
  return (query) => {
    const words = query.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return null;
    const found = [];
    for (let i = 0; i < lowered.length; i++) {
      if (words.every((word) => lowered[i].includes(word))) found.push(i);
    }
    return found;
  };
}

function titleOf(data, i) {
  return String(data.metadata[i].title ?? data.ids[i]);
}

function shortened(text, length) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= length ? line : line.slice(0, length - 1) + "…";
}
