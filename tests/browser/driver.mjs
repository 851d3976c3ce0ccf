// A headless Chromium, driven by ChromeDriver's WebDriver protocol (https://www.w3.org/TR/webdriver2/).
import { spawn } from "node:child_process";
import { createServer } from "node:net";

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const chromium = {
  browserName: "chrome",
  "goog:chromeOptions": { args: ["--headless=old", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000"] },
  "goog:loggingPrefs": { browser: "ALL" },
};

export class Browser {
  /** Starts both programs; close() ends them. */
  static async start() {
    const browser = new Browser();
    const port = await freePort();
    browser.root = `http://127.0.0.1:${port}`;
    browser.process = spawn("chromedriver", [`--port=${port}`], { stdio: "ignore" });
    for (let tries = 0; ; ++tries) {
      try {
        if ((await browser.#call("GET", "/status")).ready) break;
      } catch (error) {
        if (tries > 300) throw error;
      }
      await pause(100);
    }
    const { sessionId } = await browser.#call("POST", "/session", { capabilities: { alwaysMatch: chromium } });
    browser.session = `/session/${sessionId}`;
    return browser;
  }

  async #call(method, path, body) {
    const response = await fetch(this.root + path, { method, body: body && JSON.stringify(body), headers: { "content-type": "application/json" } });
    const { value } = await response.json();
    if (value?.error) throw new Error(`${value.error}: ${value.message}`);
    return value;
  }

  open(file) {
    return this.#call("POST", `${this.session}/url`, { url: `file://${file}` });
  }

  /** The value of a function body that runs in the page. */
  run(script, ...args) {
    return this.#call("POST", `${this.session}/execute/sync`, { script, args });
  }

  async resize(width, height) {
    await this.#call("POST", `${this.session}/window/rect`, { width, height });
    const fits = "return document.documentElement.scrollWidth <= innerWidth"; // charts follow the window, later
    for (let tries = 0; tries < 50 && !(await this.run(fits)); ++tries) await new Promise((done) => setTimeout(done, 100));
  }

  /** Errors and warnings of the page's console since the last call. */
  async complaints() {
    const lines = await this.#call("POST", `${this.session}/se/log`, { type: "browser" });
    return lines.filter((line) => line.level === "SEVERE" || line.level === "WARNING").map((line) => line.message);
  }

  /** Waits until a condition in the page holds. */
  async until(condition, what) {
    for (let tries = 0; tries < 600; ++tries) {
      if (await this.run(`return Boolean(${condition})`)) return;
      await pause(100);
    }
    throw new Error(`the page never came to this: ${what}`);
  }

  /** PNG, base64. */
  screenshot() {
    return this.#call("GET", `${this.session}/screenshot`);
  }

  async close() {
    if (this.session) await this.#call("DELETE", this.session).catch(() => {});
    this.process.kill();
  }
}
