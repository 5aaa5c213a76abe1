// The service behind the page, where there is one: its token, and waiting for a map that is being drawn.
const KEY = "wordferry-token"; // as the page of the search has it
const PAUSE = 500;

async function asked(path) {
  for (;;) {
    const token = sessionStorage.getItem(KEY);
    let answer;
    try {
      answer = await fetch(path, { headers: token ? { authorization: `Bearer ${token}` } : {} });
    } catch {
      throw new Error("the service does not answer");
    }
    if (answer.ok) return answer.arrayBuffer();
    const said = (await answer.json().catch(() => ({}))).error ?? `the service answered ${answer.status}`;
    if (answer.status !== 401 || !(await givenToken(token ? said : ""))) throw new Error(said);
  }
}

function givenToken(reason) {
  const [dialog, value, why] = ["token", "token-value", "token-reason"].map((id) => document.getElementById(id));
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      if (value.value.trim()) sessionStorage.setItem(KEY, value.value.trim());
      resolve(Boolean(value.value.trim()));
    }, { once: true });
    why.textContent = reason;
    why.hidden = !reason;
    value.value = "";
    dialog.showModal();
  });
}

async function untilReady(tell) {
  for (;;) {
    const state = JSON.parse(new TextDecoder().decode(await asked("api/map")));
    if (state.ready) return tell("");
    tell(`The map of ${state.documents.toLocaleString("en")} documents is being drawn: ${Math.round(100 * state.progress)} %`);
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}
