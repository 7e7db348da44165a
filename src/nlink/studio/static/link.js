// The line to the studio's server: questions over HTTP, computations over one WebSocket that comes back when it is lost.

import { recalled, remember } from "/web/memory.js";

const TOKEN = "nlink-token";
const LAST = ["done", "failed", "stopped"];
const SLOWEST = 4000;

export class Line {
  // changed(state): "open", "lost" or "ended" (the studio was started anew with another token)
  constructor(changed) {
    // A link with a model has no token; the browser knows that of the address which was opened last.
    const given = new URLSearchParams(location.search).get("token");
    this.token = given || recalled(TOKEN) || "";
    if (given) remember(TOKEN, given);
    this.session = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    Object.assign(this, { changed, seen: 0, jobs: new Map(), count: 0, pause: 250, unsent: [], greeted: false });
    this.connect();
  }

  // Ask over HTTP. The answer is what the server says, or { error: { text, path } }, whatever goes wrong.
  async ask(path, body, method = body === undefined ? "GET" : "POST") {
    const headers = { Authorization: `Bearer ${this.token}`, ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
    try {
      const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
      const told = await answer.json();
      return answer.ok || told.error ? told : { error: { text: "the studio did not understand this", path: "" } };
    } catch {
      return { error: { text: "the studio does not answer; is it still running?", path: "" } };
    }
  }

  async file(path) {
    const answer = await fetch(path, { headers: { Authorization: `Bearer ${this.token}` } });
    return answer.blob();
  }

  connect() {
    const address = `ws://${location.host}/ws?session=${this.session}&seen=${this.seen}&token=${encodeURIComponent(this.token)}`;
    const socket = new WebSocket(address);
    this.socket = socket;
    socket.onmessage = (event) => this.hear(JSON.parse(event.data));
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.changed("lost");
      setTimeout(() => this.again(), this.pause);
      this.pause = Math.min(SLOWEST, 2 * this.pause);
    };
  }

  async again() {
    const answer = await this.ask("/api/presets/nice-3");
    if (answer.error?.text.includes("token")) this.changed("ended");
    else this.connect();
  }

  hear({ seq, job, message }) {
    if (message.type === "hello") {
      this.welcome(message.known);
      return;
    }
    if (seq <= this.seen) return;
    this.seen = seq;
    if (seq % 8 === 0 || LAST.includes(message.type)) this.put({ type: "seen", seq });
    const heard = this.jobs.get(job);
    if (LAST.includes(message.type)) this.jobs.delete(job);
    heard?.(message);
  }

  // Connected. A server that does not know this page any more has lost its computations too.
  welcome(known) {
    this.pause = 250;
    if (this.greeted && !known) {
      this.seen = 0;
      const lost = [...this.jobs.values()];
      this.jobs.clear();
      for (const heard of lost) heard({ type: "failed", text: "the studio was started anew, and what it was computing is lost; run it again", path: "" });
    }
    this.greeted = true;
    for (const text of this.unsent.splice(0)) this.socket.send(text);
    this.changed("open");
  }

  put(message) {
    const text = JSON.stringify(message);
    if (this.socket.readyState === WebSocket.OPEN && this.greeted) this.socket.send(text);
    else this.unsent.push(text);
  }

  // Start a computation; heard(message) gets its messages, the last of type done, failed or stopped. Returns its name.
  start(kind, request, heard) {
    const job = `j${++this.count}`;
    this.jobs.set(job, heard);
    this.put({ type: "start", job, kind, request });
    return job;
  }

  stop(job) {
    if (this.jobs.has(job)) this.put({ type: "stop", job });
  }

  // Stop a computation whose results nobody wants any more: it is not heard again.
  drop(job) {
    if (this.jobs.delete(job)) this.put({ type: "drop", job });
  }

  // Tell a computation something while it is under way.
  tell(job, content) {
    if (this.jobs.has(job)) this.put({ type: "tell", job, content });
  }
}
