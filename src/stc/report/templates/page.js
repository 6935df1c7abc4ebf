"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const WHOLE = 10000, LOW_COVERAGE = 7500, FAINT = 0.1, FIRST = 12;
  const at = (id) => document.getElementById(id);

  // --- helpers: everything from the data becomes text, never markup ------------------------------

  function element(tag, options, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(options || {})) {
      if (name === "class") node.className = value;
      else if (name === "text") node.textContent = value;
      else node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }
  const percent = (units) => (units / 100).toFixed(1) + " %";
  // Shares of weights, in millionths: with more digits where all of them are small.
  const weightShare = (share, strongest) => (share / 1e4).toFixed(strongest < 2e4 ? 2 : 1) + " %";
  const signed = (units) => (units > 0 ? "+" : units < 0 ? "\u2212" : "") + percent(Math.abs(units));
  const probability = (units) => (units / WHOLE).toFixed(2);
  const label = (place) => data.labels[place];
  const labels = (places) => places.map(label).join(", ") || "none";

  function nameOf(reference) {
    const name = data.names[reference];
    if (typeof name === "string") return name;
    const attribute = data.names[name[0]];
    return name[1] === null ? attribute + " is missing" : attribute + "=" + name[1];
  }

  // --- classes ------------------------------------------------------------------------------------

  function classCard(row) {
    const strongest = Math.max(1, ...row.features.map(([, share]) => share));
    const bars = row.features.map(([reference, share]) => barRow(nameOf(reference), share, strongest, weightShare(share, strongest)));
    const card = element("div", { class: "card" },
      element("h3", {}, element("span", { text: data.classes.names[row.class] }),
        element("span", { class: "muted", text: row.mass + (row.mass === "1" ? " item" : " items") })),
      bars.length ? element("ul", { class: "bars" }, ...bars)
        : element("p", { class: "muted", text: "No features." }));
    const words = row.features.map(([reference]) => nameOf(reference).toLowerCase());
    return { card, bars, words, name: data.classes.names[row.class].toLowerCase() };
  }

  function barRow(name, share, strongest, amount) {
    const bar = element("span", { class: "bar" });
    bar.style.width = Math.abs(share) / strongest * 100 + "%";
    return element("li", { class: share < 0 ? "against" : "for" },
      element("span", { class: "name", text: name, title: name, dir: "auto" }),
      element("span", { class: "track", "aria-hidden": "true" }, bar),
      element("span", { class: "amount", text: amount || percent(share) }));
  }

  function showClasses() {
    const cards = data.classes.rows.map(classCard);
    at("class-list").append(...cards.map(({ card }) => card));
    const search = at("class-search");
    const filter = () => {
      const wanted = search.value.trim().toLowerCase();
      let count = 0;
      for (const { card, bars, words, name } of cards) {
        const named = name.includes(wanted);
        const hits = words.map((word) => word.includes(wanted));
        card.hidden = !(named || hits.includes(true));
        bars.forEach((bar, place) => { bar.hidden = !(named || hits[place]); });
        count += card.hidden ? 0 : 1;
      }
      at("class-count").textContent = wanted ? count + " of " + cards.length + " classes" : "";
    };
    search.addEventListener("input", filter);
  }

  // --- the list of items --------------------------------------------------------------------------

  const items = data.items;
  const shown = { options: [], places: [], chosen: -1, other: null, mode: "why", all: false };

  function summary(item) {
    if (item.s) return item.s.join("").slice(0, 120).replace(/\s+/g, " ");
    return item.u.slice(0, 8).map(nameOf).join(", ");
  }
  function searchable(item) {
    if (item.words === undefined) {
      const text = item.s ? item.s.join("") : item.u.concat(item.un).map(nameOf).join("\n");
      const classes = [item.p].concat(item.t || []).map(label).join("\n");
      item.words = ("item " + item.n + "\n" + classes + "\n" + text).toLowerCase();
    }
    return item.words;
  }
  const predictedText = (item) => (item.ps ? labels(item.ps) : label(item.p));
  const likelihood = (item) => probability(item.pr.find(([place]) => place === item.p)[1]);

  function optionOf(item, place) {
    const mark = item.x === undefined ? null
      : element("span", { class: item.x ? "wrong-mark" : "right-mark", text: item.x ? "\u2717 wrong" : "\u2713" });
    if (mark && !item.x) mark.append(element("span", { class: "hidden", text: " correct" }));
    const option = element("div", { class: "option", role: "option", id: "option-" + place, "aria-selected": "false" },
      element("div", { class: "row" },
        element("span", { class: "title", dir: "auto", text: item.n + " \u00b7 " + predictedText(item) }),
        element("span", {}, mark || "")),
      element("div", { class: "sub", dir: "auto", text: summary(item) }));
    option.addEventListener("click", () => choose(place));
    return option;
  }

  function showList() {
    shown.options = items.map(optionOf);
    at("item-list").append(...shown.options);
    at("item-filter").addEventListener("change", filterItems);
    at("item-search").addEventListener("input", filterItems);
    at("item-list").addEventListener("keydown", move);
    filterItems();
  }

  function filterItems() {
    const wanted = at("item-search").value.trim().toLowerCase(), kind = at("item-filter").value;
    shown.places = [];
    items.forEach((item, place) => {
      const fits = kind === "all" || (kind === "mistakes" ? item.x : item.c < LOW_COVERAGE);
      const keep = fits && (!wanted || searchable(item).includes(wanted));
      shown.options[place].hidden = !keep;
      if (keep) shown.places.push(place);
    });
    at("item-count").textContent = shown.places.length + " of " + items.length + " items";
    if (shown.places.length && !shown.places.includes(shown.chosen)) choose(shown.places[0]);
  }

  function move(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    if (!(event.key in steps) || !shown.places.length) return;
    event.preventDefault();
    const now = shown.places.indexOf(shown.chosen) + steps[event.key];
    choose(shown.places[Math.max(0, Math.min(shown.places.length - 1, now))]);
  }

  function choose(place) {
    if (shown.chosen >= 0) shown.options[shown.chosen].setAttribute("aria-selected", "false");
    shown.chosen = place;
    const option = shown.options[place], list = at("item-list");
    option.setAttribute("aria-selected", "true");
    list.setAttribute("aria-activedescendant", option.id);
    if (option.offsetTop < list.scrollTop) list.scrollTop = option.offsetTop;
    const below = option.offsetTop + option.offsetHeight - list.clientHeight;
    if (below > list.scrollTop) list.scrollTop = below;
    const item = items[place];
    shown.other = item.k.length > 1 ? runnerUp(item) : null;
    shown.mode = "why";
    shown.all = false;
    showDetail();
    at("announcement").textContent = "Item " + item.n + ": " + predictedText(item) + ", " +
      likelihood(item) + (item.t ? "; true: " + labels(item.t) : "");
  }
  // The other class to compare with: the true class of a mistake, else the most probable one.
  function runnerUp(item) {
    const known = new Map(item.pr);
    const others = item.k.slice(1);
    const right = (item.t || []).find((place) => others.includes(place));
    if (item.x && right !== undefined) return right;
    return others.reduce((best, other) => ((known.get(other) || 0) > (known.get(best) || 0) ? other : best));
  }

  // --- one item -----------------------------------------------------------------------------------

  // Difference of the contributions to the predicted class and to another one.
  function differences(item, shares, other) {
    const first = 0, second = item.k.indexOf(other);
    const highest = Math.max(item.sc[first], item.sc[second]) || 1;
    return shares[first].map((share, place) =>
      (share * item.sc[first] - shares[second][place] * item.sc[second]) / highest);
  }
  const coloured = (item) =>
    (shown.mode === "why-not" && shown.other !== null ? differences(item, item.us, shown.other) : item.us[0]);

  function showDetail() {
    const item = items[shown.chosen];
    at("detail-body").replaceChildren(
      ...heading(item), ...content(item),
      element("div", { class: "columns" },
        element("section", { "aria-label": "Probabilities" }, ...probabilities(item)),
        element("section", { "aria-label": "Counterfactual" }, ...counterfactual(item))),
      element("div", { class: "columns" },
        element("section", { "aria-label": "Why" }, ...why(item)),
        element("section", { "aria-label": "Why not" }, ...whyNot(item))),
      ...unseen(item));
  }

  function heading(item) {
    const badges = [element("span", { class: "badge", text: "predicted " + predictedText(item) + (item.ps ? "" : ", " + likelihood(item)) })];
    if (item.t) {
      const text = item.x ? "\u2717 true: " + labels(item.t) : "\u2713 true: " + labels(item.t);
      badges.push(element("span", { class: "badge " + (item.x ? "wrong-mark" : "right-mark"), text }));
    }
    badges.push(element("span", { class: "badge", text: "coverage " + percent(item.c) }));
    if (!item.by.length) badges.push(element("span", { class: "badge", text: "predicted by class frequencies" }));
    else if (data.dimensions > 1) badges.push(element("span", { class: "badge", text: "dimensions " + item.by.slice(0, 6).join(" \u00d7 ") + (item.by.length > 6 ? " \u00d7 \u2026" : "") }));
    return [element("p", { class: "heading", text: "Item " + item.n }), element("div", { class: "badges" }, ...badges)];
  }

  function content(item) {
    const title = element("h3", { text: data.kind === "documents" ? "Text" : "Values" });
    const colours = item.k.length > 1 ? [colourChoice(item)] : [];
    return [title, ...colours, item.s ? text(item) : cells(item), legend(item),
      ...(item.cut ? [element("p", { class: "muted", text: "Only the beginning of " + item.cut.toLocaleString("en") + " characters is shown." })] : [])];
  }

  function colourChoice(item) {
    const select = element("select", { id: "colours" },
      element("option", { value: "why", text: "contributions to " + label(item.p) }),
      element("option", { value: "why-not", text: label(item.p) + " compared with " + label(shown.other) }));
    select.value = shown.mode;
    select.addEventListener("change", () => { shown.mode = select.value; redraw("colours"); });
    return element("div", { class: "inline" }, element("label", { for: "colours", text: "Colour by" }), select);
  }
  // Redraw the item and return the focus to the control that was used.
  function redraw(id) {
    showDetail();
    at(id).focus();
  }

  function text(item) {
    const values = coloured(item), strongest = Math.max(1, ...values.map(Math.abs));
    const box = element("div", { class: "text", dir: "auto", tabindex: "0", role: "region", "aria-label": "Text with marked words" });
    item.s.forEach((piece, place) => {
      const number = place % 2 ? item.m[(place - 1) / 2] : null;
      box.append(number === null ? piece : word(piece, number < 0 ? null : values[number], strongest));
    });
    if (!item.s.join("").trim()) box.append(element("span", { class: "muted", text: "(empty)" }));
    return box;
  }
  function word(piece, share, strongest) {
    if (share === null) return marked(piece, "unseen", "never seen");
    if (Math.abs(share) < FAINT * strongest) return piece;
    const mark = marked(piece, share > 0 ? "for" : "against", signed(share));
    mark.style.setProperty("--w", (Math.abs(share) / strongest).toFixed(2));
    if (Math.abs(share) > strongest / 2) mark.classList.add("strong");
    return mark;
  }
  function marked(piece, kind, meaning) {
    return element("mark", { class: kind, title: meaning }, piece,
      element("span", { class: "hidden", text: " (" + meaning + ")" }));
  }

  function legend(item) {
    const against = shown.mode === "why-not" ? "for " + label(shown.other) : "against it";
    const parts = [element("mark", { class: "for", text: "for " + label(item.p) })];
    if (coloured(item).some((share) => share < 0)) parts.push(element("mark", { class: "against", text: against }));
    if (item.un.length) parts.push(element("mark", { class: "unseen", text: "never seen" }));
    return element("p", { class: "legend muted" }, ...parts,
      "as shares of the score" + (item.f ? "; a feature of several values is divided equally among them" : ""));
  }

  function cells(item) {
    const values = coloured(item), strongest = Math.max(1, ...values.map(Math.abs));
    const never = new Set(item.un);
    const named = item.u.some((reference) => typeof data.names[reference] !== "string");
    const rows = item.u.map((reference, place) => cellRow(reference, values[place], strongest, never.has(reference), named));
    const head = [...(named ? ["Attribute", "Value"] : ["Value"]), "", "Share"];
    return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Values of the item" },
      element("table", { class: "cells" },
        element("thead", {}, element("tr", {}, ...head.map((name) => element("th", { scope: "col", text: name })))),
        element("tbody", {}, ...rows)));
  }
  function cellRow(reference, share, strongest, never, named) {
    const name = data.names[reference], single = typeof name === "string";
    const bar = element("span", { class: "bar" });
    bar.style.width = Math.abs(share) / strongest * 100 + "%";
    const value = single ? name : name[1] === null ? "missing" : name[1];
    const first = named ? [element("th", { scope: "row", dir: "auto", text: single ? "" : data.names[name[0]] })] : [];
    return element("tr", {}, ...first,
      element("td", { class: "value", dir: "auto" }, never ? element("mark", { class: "unseen", text: value, title: "never seen" }) : value),
      element("td", { class: "graph", "aria-hidden": "true" }, element("div", { class: "track " + (share < 0 ? "against" : "") }, bar)),
      element("td", { class: "amount", text: never ? "never seen" : signed(share) }));
  }

  function probabilities(item) {
    const rows = item.pr.map(([place, units]) => {
      const row = barRow(label(place), units, WHOLE, probability(units));
      if (place === item.p) row.classList.add("predicted");
      return row;
    });
    return [element("h3", { text: "Probabilities" }), element("ul", { class: "bars", id: "probabilities" }, ...rows)];
  }

  function counterfactual(item) {
    const sentence = item.cf === null ? "Not computed for this item." : item.cf + ".";
    return [element("h3", { text: "Counterfactual" }),
      element("p", { id: "counterfactual", class: item.cf === null ? "muted" : "", text: sentence, dir: "auto" })];
  }

  function ranked(references, shares) {
    return references.map((reference, place) => [reference, shares[place]])
      .filter(([, share]) => Math.abs(share) >= 5)
      .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  }
  function bars(rows, id, two) {
    const strongest = Math.max(1, ...rows.map(([, share]) => Math.abs(share))) * (two ? 2 : 1);
    const kept = shown.all ? rows : rows.slice(0, FIRST);
    const list = element("ul", { class: two ? "bars two" : "bars", id },
      ...kept.map(([reference, share]) => barRow(nameOf(reference), share, strongest, signed(share))));
    if (rows.length <= FIRST) return [list];
    const button = element("button", { type: "button", id: id + "-more", text: shown.all ? "Show fewer" : "Show all " + rows.length });
    button.addEventListener("click", () => { shown.all = !shown.all; redraw(id + "-more"); });
    return [list, element("p", {}, button)];
  }

  const references = (item) => item.f || item.u;
  const sharesOf = (item) => item.fs || item.us;

  function why(item) {
    const rows = ranked(references(item), sharesOf(item)[0]);
    const title = element("h3", { text: "Why " + label(item.p) });
    if (!rows.length) return [title, element("p", { class: "muted", text: "No feature contributes; the class frequencies decide." })];
    return [title, element("p", { class: "muted", text: "Strongest features, as shares of its score." }), ...bars(rows, "why", rows.some(([, share]) => share < 0))];
  }

  function whyNot(item) {
    const title = element("h3", { text: "Why not another class" });
    if (shown.other === null) return [title, element("p", { class: "muted", text: "There is no other class." })];
    const select = element("select", { id: "other" },
      ...item.k.slice(1).map((place) => element("option", { value: String(place), text: label(place) })));
    select.value = String(shown.other);
    select.addEventListener("change", () => { shown.other = Number(select.value); redraw("other"); });
    const rows = ranked(references(item), differences(item, sharesOf(item), shown.other));
    return [title,
      element("div", { class: "inline" }, element("label", { for: "other", text: label(item.p) + " rather than" }), select),
      ...(rows.length ? bars(rows, "why-not", true) : [element("p", { class: "muted", text: "No feature tells them apart." })])];
  }

  function unseen(item) {
    if (!item.un.length) return [];
    const more = item["un+"] ? [element("li", { text: "and " + item["un+"] + " more" })] : [];
    return [element("h3", { text: "Never seen in training" }),
      element("ul", { class: "values", id: "unseen" },
        ...item.un.map((reference) => element("li", { text: nameOf(reference), dir: "auto" })), ...more)];
  }

  showClasses();
  showList();
  document.documentElement.dataset.ready = "yes";
})();
