"use strict";
(() => {
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
  for (const one of document.querySelectorAll(".scripted")) one.hidden = false;
  name.addEventListener("input", filter);
  order.addEventListener("change", () => list.append(...(order.value === "name" ? named : items)));
  addEventListener("hashchange", point);
  filter();
  point();
})();
