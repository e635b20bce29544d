// The buttons that copy code, the contents of a page, the place in the navigation, and the menu of versions.

for (const block of document.querySelectorAll("pre.code")) {
  const button = document.createElement("button");
  button.className = "copy";
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await copy(block.textContent.replace(/\n*$/, "\n"));
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  const frame = document.createElement("div");
  frame.className = "block";
  block.replaceWith(frame);
  frame.append(block, button);
}

async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // A page that came by http has no clipboard.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

// Open where they have a column of their own.
const contents = document.querySelector(".on-this-page");
if (contents) {
  const wide = matchMedia("(min-width: 80rem)");
  const adapt = () => (contents.open = wide.matches);
  wide.addEventListener("change", adapt);
  adapt();
}

const here = document.querySelector("nav [aria-current]");
if (here) {
  const pages = here.closest("nav");
  pages.scrollTop = here.getBoundingClientRect().top - pages.getBoundingClientRect().top - pages.clientHeight / 3;
}

// Sites of several versions beside each other are listed in versions.js above them: a site need not know of later ones.
function show_versions(versions) {
  const list = document.querySelector(".versions ul");
  const own = document.querySelector(".versions summary").textContent;
  list.prepend(
    ...versions.map((version) => {
      const item = document.createElement("li");
      const a = document.createElement("a");
      a.href = `../${version}/index.html`;
      a.textContent = `Documentation of ${version}`;
      if (version === own) a.setAttribute("aria-current", "true");
      item.append(a);
      return item;
    }),
  );
}

const versions = document.querySelector(".versions");
versions.addEventListener(
  "toggle",
  () => {
    const script = document.createElement("script");
    script.src = "../versions.js";
    document.head.append(script);
  },
  { once: true },
);
document.addEventListener("click", (e) => {
  if (!e.target.closest(".versions")) versions.open = false;
});
