// The search runs in a worker. A page that was opened from a folder may start none: there its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #waiting = [];
    #scope;

    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.#scope = frame.contentWindow;
      this.#scope.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.#scope.importScripts = async (...urls) => { for (const each of urls) await this.#run(each); };
      this.#run(url).then(() => {
        const waiting = this.#waiting;
        this.#waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      });
    }

    postMessage(data) {
      if (this.#waiting) this.#waiting.push(data);
      else this.#scope.dispatchEvent(new this.#scope.MessageEvent("message", { data }));
    }

    #run(url) {
      return new Promise((done) => {
        const script = this.#scope.document.createElement("script");
        script.src = url;
        script.onload = script.onerror = done;
        this.#scope.document.body.append(script);
      });
    }
  };
}
