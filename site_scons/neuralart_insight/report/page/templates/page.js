"use strict";
// Draws the pictures, gives their texts the color of the page, and zooms where the tables lead to.
(async () => {
  const root = document.documentElement;
  const drawn = new Map(); // Key of a picture -> its view
  const inked = []; // Model and property of everything that has the color of texts
  const { pictures, ink } = JSON.parse(document.getElementById("pictures").textContent);

  const paint = () => {
    const color = getComputedStyle(document.body).color;
    for (const [model, name, wrapped] of inked) model[name] = wrapped ? { value: color } : color;
  };

  const collect = (view) => {
    for (const model of view.model.references()) {
      for (const property of model) {
        if (!property.attr.endsWith("color")) continue;
        const value = model[property.attr];
        if (value === ink) inked.push([model, property.attr, false]);
        else if (value !== null && typeof value === "object" && value.value === ink) inked.push([model, property.attr, true]);
      }
    }
  };

  const count = (view) => {
    const renderers = [...view.renderer_views.values()].filter((each) => each.model.name === "counted");
    return renderers.reduce((sum, each) => sum + each.glyph.data_size, 0);
  };

  document.getElementById("theme").addEventListener("click", () => {
    const dark = getComputedStyle(root).colorScheme === "dark" ||
      (getComputedStyle(root).colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
    root.style.colorScheme = dark ? "light" : "dark";
    paint();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  if (location.hash === "#dark" || location.hash === "#light") root.style.colorScheme = location.hash.slice(1);

  document.addEventListener("click", (event) => {
    const button = event.target.closest(".jump");
    if (button === null) return;
    const range = drawn.get(button.dataset.picture).model.x_range;
    range.setv({ start: Number(button.dataset.start), end: Number(button.dataset.end) });
    document.getElementById(`picture-${button.dataset.picture}`).scrollIntoView({ block: "center" });
  });

  // What is typed above a picture selects its epochs, and shows the first; above a table it hides the other rows.
  const find = (input, next) => {
    const wanted = input.value.trim().toLowerCase();
    const has = (text) => wanted !== "" && text.toLowerCase().includes(wanted);
    let found, all;
    if (input.dataset.picture) {
      const view = drawn.get(input.dataset.picture);
      const { data, selected } = [...view.renderer_views.values()].find((each) => each.model.name === "counted").model.data_source;
      const texts = ["label", "what", "name", "mark", "tensors"].map((key) => data[key]);
      all = data.y.length;
      selected.indices = found = [...data.y.keys()].filter((row) => texts.some((column) => has(column[row])));
      const at = next && found.length ? (Number(input.dataset.at) + 1) % found.length : 0;
      input.dataset.at = String(at);
      const frame = document.getElementById(`picture-${input.dataset.picture}`);
      const share = found.length ? 1 - data.y[found[at]] / all : 0;
      frame.scrollTop = share * frame.scrollHeight - frame.clientHeight / 2;
    } else {
      const rows = [...input.parentElement.querySelectorAll(":scope table tbody tr")];
      all = rows.length;
      found = rows.filter((row) => wanted === "" || has(row.textContent));
      for (const row of rows) row.hidden = !found.includes(row);
    }
    input.nextElementSibling.textContent = wanted === "" ? "" : `${found.length} of ${all}`;
  };
  document.addEventListener("input", (event) => event.target.matches(".find") && find(event.target, false));
  document.addEventListener("keydown", (event) => event.key === "Enter" && event.target.matches(".find") && find(event.target, true));

  // Labels of an axis have room beside each other.
  const ticks = () => {
    for (const view of drawn.values())
      for (const axis of view.model.below)
        if ("desired_num_ticks" in axis.ticker) axis.ticker.desired_num_ticks = Math.max(2, Math.min(7, Math.floor(view.model.inner_width / 120)));
  };
  // Texts in boxes have the room of their boxes.
  const whole = new Map(); // Texts of a source as they were written
  const labels = () => {
    for (const view of drawn.values()) {
      const { x_range, inner_width } = view.model;
      for (const { model } of view.renderer_views.values()) {
        const source = model.data_source;
        const data = source?.data ?? {};
        if (!data.text || !data.left) continue;
        if (!whole.has(source)) whole.set(source, [...data.text]);
        const text = whole.get(source).map((each, row) => {
          const letters = Math.floor((((data.right[row] - data.left[row]) * inner_width) / (x_range.end - x_range.start) - 6) / 7.2);
          return each.length <= letters ? each : letters > 4 ? `${each.slice(0, letters - 1)}…` : "";
        });
        if (text.some((each, row) => each !== data.text[row])) source.data = { ...data, text };
      }
    }
  };
  const fit = () => {
    ticks();
    labels();
  };

  try {
    for (const item of pictures) {
      const manager = await Bokeh.embed.embed_item(item);
      const view = [...manager.roots][0];
      const key = item.target_id.slice("picture-".length);
      drawn.set(key, view);
      // The library lays a picture out when the browser has time, and again when the window changes.
      view.model.properties.inner_width.change.connect(fit);
      collect(view);
      document.getElementById(item.target_id).dataset.drawn = String(count(view));
    }
    paint();
    fit();
    root.dataset.ready = "yes";
  } catch (error) {
    const failed = document.getElementById("failed");
    failed.textContent = `The pictures cannot be drawn: ${error}`;
    failed.hidden = false;
    root.dataset.ready = "no";
    throw error;
  }
})();
