"use strict";
(() => {
  for (const one of document.querySelectorAll(".scripted")) one.hidden = false;
  for (const one of document.querySelectorAll(".unscripted")) one.hidden = true;
  // A frame shows the page alone, without the files beside it.
  if (window.parent !== window) {
    for (const one of document.querySelectorAll(".files")) one.hidden = true;
  }
  for (const find of document.querySelectorAll(".find")) {
    // A row may have a second one below it, which belongs to it.
    const all = [...document.getElementById(find.getAttribute("aria-controls")).tBodies[0].rows];
    const rows = all.filter((row) => !row.classList.contains("more")).map((row) => {
      const next = row.nextElementSibling;
      return next && next.classList.contains("more") ? [row, next] : [row];
    });
    const texts = rows.map((parts) => parts.map((row) => row.textContent).join(" ").toLowerCase());
    const found = find.closest(".filter").querySelector(".found");
    find.addEventListener("input", () => {
      const wanted = find.value.trim().toLowerCase();
      let shown = 0;
      rows.forEach((parts, at) => {
        const isFound = texts[at].includes(wanted);
        for (const row of parts) row.hidden = !isFound;
        shown += isFound;
      });
      found.textContent = wanted ? shown + " of " + rows.length : "";
    });
  }
  const list = document.getElementById("list");
  if (!list) return;
  // The details of most items lie in the page compressed, many together, and are put in where an item is opened.
  const packs = new Map();
  const unpack = (name) => {
    const text = atob(document.getElementById("pack-" + name).content.textContent);
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).json();
  };
  const fill = async (one) => {
    const name = one.dataset.pack;
    if (name === undefined) return;
    delete one.dataset.pack;
    const inside = one.querySelector(".inside");
    try {
      if (!packs.has(name)) packs.set(name, unpack(name));
      const text = (await packs.get(name))[one.id.slice(5)];
      inside.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
    } catch (problem) {
      inside.textContent = "This browser cannot unpack it (" + problem + "). All of it is in report.json.";
    }
  };
  list.addEventListener("toggle", (event) => event.target.open && fill(event.target), true);
  const items = [...list.querySelectorAll(":scope > .item")];
  const named = [...items].sort((a, b) => a.id.slice(5) - b.id.slice(5));
  const texts = new Map(items.map((c) => [c, c.querySelector(".name").textContent.toLowerCase()]));
  const [name, order, count] = ["name", "order", "count"].map((id) => document.getElementById(id));
  const filter = () => {
    const wanted = name.value.trim().toLowerCase();
    let shown = 0;
    for (const [one, text] of texts) {
      one.hidden = !text.includes(wanted);
      shown += !one.hidden;
    }
    count.textContent = wanted ? shown + " of " + items.length : "";
  };
  const point = () => {
    const one = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (one && one.tagName === "DETAILS") {
      one.hidden = false;
      one.open = true;
      document.getElementById("all").checked = true;
      one.scrollIntoView();
    }
  };
  name.addEventListener("input", filter);
  order.addEventListener("change", () => list.append(...(order.value === "name" ? named : items)));
  addEventListener("hashchange", point);
  filter();
  point();
})();
