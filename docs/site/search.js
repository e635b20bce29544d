// The full-text search. lunr ranks the sections; `search_index`, which docs/site/build writes, has the title, the page,
// the link and the text of each, and a factor below 1 for what is wanted rarely. Both are loaded at the first use.
const field = document.getElementById("search");
const results = document.getElementById("results");
const list = document.getElementById("found");
const count = document.getElementById("count");
const shown = 12;
const shown_of_a_page = 3;
let ready; // A promise of the index.
let chosen = -1;

// Words, names with underscores among them, and g++ and C++.
function words_of(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+(\+\+)?/gu) ?? [];
}

function load(file) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = file;
    script.onload = resolve;
    script.onerror = reject;
    document.head.append(script);
  });
}

// A word is found by itself, by its stem ("installing" for "install"), and by each part of a name ("future" for
// "use_future").
const forms = new Map();
function forms_of(token) {
  const word = token.toString();
  if (!forms.has(word)) {
    const parts = word.split("_").filter((part) => part.length > 1);
    forms.set(word, [...new Set([word, stem_of(word), ...parts])]);
  }
  return forms.get(word).map((form) => new lunr.Token(form, {}));
}

function stem_of(word) {
  return lunr.stemmer(new lunr.Token(word, {})).toString();
}

async function build_index() {
  await Promise.all([load("lunr.min.js"), load("search-index.js")]);
  lunr.Pipeline.registerFunction(forms_of, "forms of words");
  return lunr(function () {
    this.pipeline.reset();
    this.pipeline.add(forms_of);
    this.searchPipeline.reset();
    this.tokenizer = (text) => words_of(String(text ?? "")).map((word) => new lunr.Token(word, {}));
    this.ref("number");
    this.field("title", { boost: 5 });
    this.field("page", { boost: 2 });
    this.field("text");
    search_index.forEach(([title, page, , text, boost = 1], number) => {
      this.add({ number, title, page, text }, { boost });
    });
  });
}

// The sections in which each of the words stands, or begins a word; the best first.
function find(index, words) {
  const matches = index.query((query) => {
    for (const word of words) {
      query.term(stem_of(word), { boost: 5 });
      if (stem_of(word) !== word) query.term(word, { boost: 5 });
      query.term(word, { wildcard: lunr.Query.wildcard.TRAILING });
    }
  });
  const has = (match, word) =>
    Object.keys(match.matchData.metadata).some((term) => term.startsWith(word) || term === stem_of(word));
  return matches.filter((match) => words.every((word) => has(match, word))).map((match) => search_index[match.ref]);
}

// At most so many sections of each page.
function first_of_each_page(found) {
  const seen = new Map();
  return found.filter(([, , link]) => {
    const page = link.split("#")[0];
    seen.set(page, (seen.get(page) ?? 0) + 1);
    return seen.get(page) <= shown_of_a_page;
  });
}

// The text with the places where words begin with one of `words` in <mark>.
function marked(text, words) {
  const pattern = words.map((w) => w.replace(/[+]/g, "\\$&")).join("|");
  const parts = text.split(new RegExp(`((?<![\\p{L}\\p{N}])(?:${pattern}))`, "giu"));
  return parts.map((part, i) => {
    if (i % 2 === 0) return part;
    const mark = document.createElement("mark");
    mark.textContent = part;
    return mark;
  });
}

// What stands around the first of the words.
function excerpt(text, words) {
  const lower = text.toLowerCase();
  const places = words.map((w) => lower.indexOf(w)).filter((at) => at >= 0);
  const begin = Math.max(0, Math.min(...places, text.length) - 50);
  const from = places.length === 0 || begin === 0 ? 0 : text.indexOf(" ", begin) + 1;
  const to = text.length > from + 160 ? text.lastIndexOf(" ", from + 160) : text.length;
  return (from > 0 ? "… " : "") + text.slice(from, Math.max(to, from + 100)) + (to < text.length ? " …" : "");
}

function element(name, class_name, ...children) {
  const e = document.createElement(name);
  e.className = class_name;
  e.append(...children);
  return e;
}

function result(words, [title, page, link, text], number) {
  const a = element("a", "", element("span", "title", ...marked(title, words)), element("small", "", page));
  a.href = link;
  a.tabIndex = -1;
  if (text) a.append(element("span", "excerpt", ...marked(excerpt(text, words), words)));
  const item = element("li", "", a);
  item.id = `found-${number}`;
  item.setAttribute("role", "option");
  return item;
}

function say(text) {
  count.textContent = text;
  results.hidden = text === "";
  field.setAttribute("aria-expanded", String(!results.hidden));
}

async function show() {
  const typed = field.value.trim();
  const words = words_of(typed);
  choose(-1);
  if (typed === "") {
    list.replaceChildren();
    return say("");
  }
  let index;
  if (results.hidden) say("Searching …");
  try {
    index = await ready;
  } catch {
    list.replaceChildren();
    return say("The index of the search could not be loaded.");
  }
  if (typed !== field.value.trim()) return;
  const found = words.length === 0 ? [] : first_of_each_page(find(index, words));
  list.replaceChildren(...found.slice(0, shown).map((entry, i) => result(words, entry, i)));
  if (found.length === 0) say(`Nothing found for “${typed}”.`);
  else if (found.length === 1) say("1 section");
  else say(found.length > shown ? `The first ${shown} of ${found.length} sections` : `${found.length} sections`);
}

function choose(next) {
  const items = [...list.children];
  chosen = items.length === 0 || next === -1 ? -1 : (next + items.length) % items.length;
  items.forEach((item, i) => item.setAttribute("aria-selected", String(i === chosen)));
  if (chosen < 0) return field.removeAttribute("aria-activedescendant");
  field.setAttribute("aria-activedescendant", items[chosen].id);
  items[chosen].scrollIntoView({ block: "nearest" });
}

field.addEventListener("input", show);
field.addEventListener("focus", () => {
  ready ??= build_index();
  show();
});
field.addEventListener("keydown", (e) => {
  if (e.key === "ArrowDown") choose(chosen + 1);
  else if (e.key === "ArrowUp") choose(chosen < 0 ? list.children.length - 1 : chosen - 1 + list.children.length);
  else if (e.key === "Enter") list.querySelectorAll("a")[Math.max(chosen, 0)]?.click();
  else if (e.key === "Escape") say("");
  else return;
  e.preventDefault();
});
document.addEventListener("click", (e) => {
  if (!e.target.closest(".search") || e.target.closest("#found a")) say("");
});
document.addEventListener("keydown", (e) => {
  const wanted = (e.key === "/" && !e.target.matches("input, textarea")) || (e.key === "k" && (e.ctrlKey || e.metaKey));
  if (!wanted) return;
  field.select();
  e.preventDefault();
});
