// The search: names of pages, of their parts, and of what is in the reference. `search_index` is written by docs/site/build:
// [name, where it is, link] of each.
const field = document.getElementById("search");
const list = document.getElementById("found");
let chosen = -1;

function find(words) {
  if (words.length === 0) return [];
  const found = [];
  for (const [name, place, link] of search_index) {
    const lower = (name + " " + place).toLowerCase();
    if (!words.every((w) => lower.includes(w))) continue;
    const at = name.toLowerCase().indexOf(words[0]);
    found.push([at === 0 ? 0 : at > 0 ? 1 : 2, name.length, name, place, link]);
  }
  found.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return found.slice(0, 12);
}

function show() {
  const found = find(field.value.toLowerCase().split(/\s+/).filter(Boolean));
  chosen = -1;
  list.hidden = found.length === 0;
  list.replaceChildren(
    ...found.map(([, , name, place, link]) => {
      const entry = document.createElement("li");
      const a = document.createElement("a");
      a.href = link;
      a.textContent = name;
      const where = document.createElement("small");
      where.textContent = place;
      a.append(where);
      entry.append(a);
      return entry;
    }),
  );
}

function choose(next) {
  const links = list.querySelectorAll("a");
  if (links.length === 0) return;
  chosen = (next + links.length) % links.length;
  links.forEach((a, i) => a.classList.toggle("chosen", i === chosen));
}

field.addEventListener("input", show);
field.addEventListener("focus", show);
field.addEventListener("keydown", (e) => {
  if (e.key === "ArrowDown") choose(chosen + 1);
  else if (e.key === "ArrowUp") choose(chosen - 1);
  else if (e.key === "Enter") list.querySelectorAll("a")[Math.max(chosen, 0)]?.click();
  else if (e.key === "Escape") list.hidden = true;
  else return;
  e.preventDefault();
});
document.addEventListener("click", (e) => {
  if (!e.target.closest(".search")) list.hidden = true;
  else if (e.target.closest("#found a")) list.hidden = true;
});
document.addEventListener("keydown", (e) => {
  if (e.key !== "/" || e.target.matches("input")) return;
  field.focus();
  e.preventDefault();
});
