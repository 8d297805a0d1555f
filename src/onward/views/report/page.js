"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // A row is opened by a click anywhere on it that does not mean something else.
  const details = (body) => body.querySelector("details");
  const follow = (body) => {
    const link = body.querySelector("th a"), inside = details(body);
    if (link && inside) link.setAttribute("aria-expanded", String(inside.open));
  };
  const toggle = (body, open) => {
    const inside = details(body);
    if (inside) inside.open = open === undefined ? !inside.open : open;
  };
  for (const table of all("table.nodes")) {
    for (const body of table.tBodies) follow(body);
    table.addEventListener("toggle", (event) => follow(event.target.closest("tbody")), true);
    table.addEventListener("click", (event) => {
      const row = event.target.closest("tbody > tr:first-child");
      if (!row || String(getSelection())) return;
      if (event.target.closest("a") && (event.metaKey || event.ctrlKey || event.shiftKey)) return;
      event.preventDefault();
      toggle(row.parentNode);
    });
  }

  // An address with the number of a node shows that node, also when it was filtered out.
  const reveal = () => {
    const target = /^#n\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    const body = target && target.closest("tbody");
    if (!body) return;
    body.hidden = false;
    body.classList.remove("late");
    toggle(body, true);
    body.scrollIntoView({ block: "start" });
    const link = body.querySelector("th a");
    if (link) link.focus({ preventScroll: true });
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#n"]');
    if (link && !link.closest("table.nodes") && link.hash === location.hash) reveal();
  });

  // Search and filters. Long tables show their first rows until somebody asks for more.
  const AT_ONCE = 500;
  for (const section of all("section.list")) {
    const bar = section.querySelector(".filters"), table = section.querySelector("table"), bodies = [...table.tBodies];
    const search = bar.querySelector(".q"), chips = all(".chip", bar), found = bar.querySelector(".found");
    const rest = section.querySelector(".rest"), number = (count) => count.toLocaleString("en");
    const texts = new Map(bodies.map((body) => [body, body.rows[0].cells[1].textContent.toLowerCase()]));
    let everything = false;
    const apply = () => {
      const asked = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.s);
      let fit = 0, shown = 0;
      for (const body of table.tBodies) {
        const fits = (!wanted.length || wanted.includes(body.dataset.s)) && asked.every((word) => texts.get(body).includes(word));
        body.classList.remove("late");
        body.hidden = !fits || (!everything && shown >= AT_ONCE);
        fit += fits;
        shown += !body.hidden;
      }
      found.textContent = asked.length || wanted.length ? `${number(fit)} found` : "";
      rest.hidden = shown >= fit;
      rest.firstChild.textContent = `The first ${number(shown)} of ${number(fit)} are shown.`;
    };
    let due = 0;
    search.addEventListener("input", () => { clearTimeout(due); due = setTimeout(apply, 60); });
    for (const chip of chips) {
      chip.addEventListener("click", () => {
        chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
        apply();
      });
    }
    rest.querySelector("button").addEventListener("click", () => { everything = true; apply(); });
    table.addEventListener("sorted", apply);
    const unfold = bar.querySelector(".unfold");
    unfold.addEventListener("click", () => {
      const shown = bodies.filter((body) => !body.hidden && details(body)).slice(0, 200);
      const open = shown.some((body) => !details(body).open);
      shown.forEach((body) => toggle(body, open));
      unfold.textContent = open ? "Fold all" : "Unfold all shown";
    });
    bar.hidden = bodies.length < 5;
    if (bodies.length > AT_ONCE) apply();
  }

  // Sorting: up, down, and back to the order of the file.
  for (const table of all("table.nodes")) {
    const original = [...table.tBodies], heads = [...table.tHead.rows[0].cells];
    const value = (body, index, numeric) => {
      const cell = body.rows[0].cells[index];
      return numeric ? parseFloat(cell.dataset.v || cell.textContent) : cell.textContent;
    };
    heads.forEach((head, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort") || "none"];
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        if (next !== "none") head.setAttribute("aria-sort", next);
        const numeric = head.hasAttribute("data-n"), sign = next === "descending" ? -1 : 1;
        const keyed = original.map((body, at) => [value(body, index, numeric), at, body]);
        const absent = (key) => numeric && Number.isNaN(key);
        if (next !== "none") keyed.sort(([a, i], [b, j]) => {
          if (absent(a) || absent(b)) return absent(a) - absent(b) || i - j;
          return sign * (numeric ? a - b : a < b ? -1 : a > b ? 1 : 0) || i - j;
        });
        table.append(...keyed.map(([, , body]) => body));
        table.dispatchEvent(new Event("sorted"));
      });
    });
  }

  // Copying a command.
  for (const button of all("button.copy")) {
    if (!navigator.clipboard) break;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(button.previousElementSibling.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(button.previousElementSibling);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
  reveal();
})();
