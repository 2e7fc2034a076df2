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

  try {
    for (const item of pictures) {
      const manager = await Bokeh.embed.embed_item(item);
      const view = [...manager.roots][0];
      const key = item.target_id.slice("picture-".length);
      drawn.set(key, view);
      collect(view);
      document.getElementById(item.target_id).dataset.drawn = String(count(view));
    }
    paint();
    root.dataset.ready = "yes";
  } catch (error) {
    const failed = document.getElementById("failed");
    failed.textContent = `The pictures cannot be drawn: ${error}`;
    failed.hidden = false;
    root.dataset.ready = "no";
    throw error;
  }
})();
