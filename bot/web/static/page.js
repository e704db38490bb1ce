// Says whether the page is live: a reader must not take an old state for the present one.
const state = () => document.getElementById("state");
const say = (text, stale) => {
  state().textContent = text;
  document.body.classList.toggle("stale", stale);
};
document.addEventListener("htmx:sse:after:connection", () => say("connected", false));
document.addEventListener("htmx:sse:error", () => say("not connected", true));
document.addEventListener("htmx:sse:close", () => say("not connected", true));
