// Shows the page again when something has happened, at most once a second and not while a person has text selected.
"use strict";
let due = false, busy = false;
async function again() {
  if (busy || !due || document.hidden || String(getSelection())) return;
  busy = true; due = false;
  try {
    const answer = await fetch("now", { cache: "no-store" });
    if (answer.ok) document.querySelector("main").innerHTML = await answer.text();
  } catch (e) { due = true; }
  busy = false;
}
const events = new EventSource("events");
events.onmessage = () => { due = true; };
events.onopen = () => { document.getElementById("lost").hidden = true; };
events.onerror = () => { document.getElementById("lost").hidden = false; };
setInterval(again, 1000);
document.addEventListener("visibilitychange", again);
