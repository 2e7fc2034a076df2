"use strict";
// A page from a folder may start no worker. The search's worker runs in a hidden frame then, with the same messages.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.body.appendChild(document.createElement("iframe"));
      this.frame.hidden = true;
      const inside = this.frame.contentDocument;
      const within = this.frame.contentWindow;
      this.ready = new Promise((done) => {
        const script = inside.createElement("script");
        within.postMessage = (data) => {
          const message = new MessageEvent("message", { data });
          this.dispatchEvent(message);
          this.onmessage?.(message);
        };
        within.importScripts = async (...urls) => {
          for (const each of urls)
            await new Promise((loaded) => {
              const more = inside.createElement("script");
              [more.src, more.onload] = [each, loaded];
              inside.body.append(more);
            });
        };
        [script.src, script.onload] = [url, done];
        inside.body.append(script);
      });
    }
    async postMessage(data) {
      await this.ready;
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
    terminate() {
      this.frame.remove();
    }
  };
