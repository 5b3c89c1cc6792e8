"use strict";
(() => {
  for (const one of document.querySelectorAll(".scripted")) one.hidden = false;
  for (const find of document.querySelectorAll(".find")) {
    const rows = [...document.getElementById(find.getAttribute("aria-controls")).tBodies[0].rows];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const found = find.closest(".filter").querySelector(".found");
    find.addEventListener("input", () => {
      const wanted = find.value.trim().toLowerCase();
      let shown = 0;
      rows.forEach((row, at) => {
        row.hidden = !texts[at].includes(wanted);
        shown += !row.hidden;
      });
      found.textContent = wanted ? shown + " of " + rows.length : "";
    });
  }
  const list = document.getElementById("list");
  if (!list) return;
  const items = [...list.children];
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
