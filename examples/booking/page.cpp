// Copyright (c) 2026 the leasehold authors. Distributed under the Boost Software License, Version 1.0.
// SPDX-License-Identifier: BSL-1.0
#include "booking/page.hpp"

namespace booking {

const std::string_view page = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Booking</title>
<style>
  :root {
    --ground: #f6f5f2; --card: #fff; --text: #22242a; --quiet: #62656f; --line: #d9d7d0; --edge: #8d909b;
    --free: #fff; --reserved: #ffd98a; --reserved-text: #4a3300; --paid: #3e5c9a; --paid-text: #fff; --lock: #c2255c;
  }
  @media (prefers-color-scheme: dark) {
    :root {
      --ground: #15171c; --card: #1e2129; --text: #e8e8ea; --quiet: #a3a7b3; --line: #383c48; --edge: #7d8290;
      --free: #262a34; --reserved: #8a6114; --reserved-text: #fff3d6; --paid: #7f9fe0; --paid-text: #10182b;
      --lock: #ff6f9c;
    }
  }
  * { box-sizing: border-box }
  body { margin: 0 auto; max-width: 62rem; padding: 1.2rem; background: var(--ground); color: var(--text);
         font: 15px/1.45 system-ui, sans-serif }
  header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .3rem 1rem; margin-bottom: .9rem }
  h1 { font-size: 1.35rem; margin: 0 } h2 { font-size: 1rem; margin: 0 0 .5rem }
  .quiet { color: var(--quiet) }
  section, #problem { margin: 0 0 1rem; padding: 1rem; border: 1px solid var(--line); border-radius: .8rem }
  section { background: var(--card) }
  #problem { background: var(--lock); color: var(--ground) }
  #stage { width: 62%; margin: 0 auto 1.1rem; padding: .3rem; text-align: center; text-transform: uppercase;
           letter-spacing: .3em; font-size: .75rem; color: var(--quiet); border-bottom: 3px solid var(--line);
           border-radius: 0 0 50% 50% / 0 0 1.2rem 1.2rem }
  #hall { overflow-x: auto; padding: .2rem }
  .row { display: flex; gap: .35rem; justify-content: safe center; align-items: center; margin-bottom: .4rem }
  .row b { flex: none; width: 1.4rem; text-align: center; color: var(--quiet); font-weight: 600 }
  .seat { position: relative; flex: none; width: 2.5rem; height: 2.3rem; padding: 0; font: inherit; font-size: .85rem;
          color: var(--text); background: var(--free); border: 1.5px solid var(--edge); cursor: pointer;
          border-radius: .45rem .45rem .9rem .9rem }
  .aisle { margin-right: 1.3rem }
  .seat::after { position: absolute; right: .22rem; top: -.05rem; font-size: .6rem; font-weight: 700 }
  .reserved { background: var(--reserved); color: var(--reserved-text); border-color: transparent }
  .reserved::after { content: "\2022" }
  .paid { background: var(--paid); color: var(--paid-text); border-color: transparent }
  .paid::after { content: "\2713" }
  .locked { outline: 3px solid var(--lock); outline-offset: 1px }
  .seat:focus-visible, .chosen { box-shadow: 0 0 0 2px var(--card), 0 0 0 4px var(--text) }
  .locked.chosen { box-shadow: 0 0 0 4px var(--card), 0 0 0 6px var(--text) }
  @media (prefers-reduced-motion: no-preference) {
    .locked { animation: pulse 1.6s ease-in-out infinite }
    @keyframes pulse { 50% { outline-offset: 0 } }
  }
  #legend { display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; justify-content: center; margin: 1rem 0 0; padding: 0;
            list-style: none; font-size: .85rem }
  #legend li { display: flex; align-items: center; gap: .55rem }
  #legend .seat { width: 1.5rem; height: 1.4rem; cursor: default; animation: none }
  #below { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 0 1rem; align-items: start }
  #below section.wide { grid-column: span 2 } @media (max-width: 44rem) { #below section.wide { grid-column: auto } }
  #table { overflow-x: auto }
  table { width: 100%; border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums }
  th { text-align: left; font-weight: 600; color: var(--quiet) }
  td, th { padding: .3rem .8rem .3rem 0; white-space: nowrap }
  tr + tr td { border-top: 1px solid var(--line) }
  input, form button { font: inherit; padding: .35rem .7rem; border-radius: .45rem; border: 1px solid var(--edge);
                       background: var(--free); color: var(--text) }
  input { width: 100%; margin: .2rem 0 .6rem }
  form button { cursor: pointer }
  form button:hover { border-color: var(--text) }
  #result { margin: .7rem 0 0; min-height: 1.4em; overflow-wrap: anywhere }
</style>
<header><h1>Booking</h1><span class="quiet">instance <b id="instance">?</b></span>
  <span class="quiet" id="counts"></span></header>
<p id="problem" role="alert" hidden></p>
<section aria-label="The seats">
  <div id="stage">Stage</div>
  <div id="hall"></div>
  <ul id="legend">
    <li><span class="seat"></span>free</li><li><span class="seat reserved"></span>reserved</li>
    <li><span class="seat paid"></span>paid</li><li><span class="seat locked"></span>its lock is held</li>
  </ul>
</section>
<div id="below">
  <section class="wide"><h2>Locks held now</h2>
    <div id="table"><table>
      <thead><tr><th>Seat<th>Held by<th>Request<th>Fence<th>Lease left<th>Waiting</thead>
      <tbody id="locks"></tbody>
    </table></div><p class="quiet" id="no-locks">None.</p></section>
  <section><h2 id="chosen">Choose a seat</h2>
    <form id="form"><label>Customer<input id="customer" value="Ann" maxlength="100"></label>
      <button name="reserve">Reserve</button> <button name="pay">Pay</button> <button name="cancel">Cancel</button>
    </form><p id="result" role="status"></p></section>
</div>
<script>
"use strict";
const get = id => document.getElementById(id);
function make(tag, text, classes) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  element.textContent = text;
  return element;
}
let chosen = "", seats = [];

function build() {
  const rows = new Map();
  for (const s of seats) {
    const name = s.seat[0];
    if (!rows.has(name)) {
      rows.set(name, make("div", "", "row"));
      rows.get(name).append(make("b", name));
    }
    const seat = make("button", s.seat.slice(1), "seat");
    seat.id = s.seat;
    seat.onclick = () => { chosen = s.seat; get("result").textContent = ""; draw(); };
    rows.get(name).append(seat);
  }
  for (const row of rows.values()) row.children[Math.floor(row.children.length / 2)].classList.add("aisle");
  get("hall").replaceChildren(...rows.values());
}

function draw() {
  const count = {free: 0, reserved: 0, paid: 0};
  const locks = [];
  for (const s of seats) {
    ++count[s.state];
    let label = `Seat ${s.seat}: ${s.state}`;
    if (s.customer) label += ` for ${s.customer}`;
    if (s.lock) {
      label += `; its lock is held by ${s.lock.instance}`;
      const row = make("tr", "");
      row.append(...[s.seat, s.lock.instance, s.lock.owner.replace("request ", ""), s.lock.fence,
                     "ttl_ms" in s.lock ? (s.lock.ttl_ms / 1000).toFixed(1) + " s" : "no end", s.lock.waiters]
                       .map(text => make("td", text)));
      locks.push(row);
    }
    const seat = get(s.seat);
    const aisle = seat.classList.contains("aisle");
    seat.className = `seat ${s.state}`;
    for (const [name, is] of [["locked", s.lock], ["aisle", aisle], ["chosen", s.seat === chosen]]) {
      if (is) seat.classList.add(name);
    }
    seat.title = label;
    seat.setAttribute("aria-label", label);
    seat.setAttribute("aria-pressed", s.seat === chosen);
    if (s.seat === chosen) get("chosen").textContent = label;
  }
  get("counts").textContent = Object.entries(count).map(([state, n]) => `${n} ${state}`).join(", ");
  get("locks").replaceChildren(...locks);
  get("no-locks").hidden = locks.length > 0;
}

function tell(problem) {
  get("problem").textContent = problem;
  get("problem").hidden = !problem;
}

async function look() {
  try {
    const board = await (await fetch("board")).json();
    if (board.error) throw new Error(board.error);
    const changed = board.seats.length !== seats.length;
    seats = board.seats;
    if (changed) build();
    get("instance").textContent = board.instance;
    tell(board.problem);
    draw();
  } catch (e) {
    tell(`No answer from this instance: ${e.message}`);
  }
  setTimeout(look, 400);
}

get("form").onsubmit = async event => {
  event.preventDefault();
  if (!chosen) return get("result").textContent = "Choose a seat first.";
  const seat = chosen, what = event.submitter.name;
  get("result").textContent = `${what} ${seat} ...`;
  try {
    const body = what === "reserve" ? JSON.stringify({customer: get("customer").value}) : undefined;
    const r = await fetch(`seats/${seat}/${what}`, {method: "POST", body});
    const answer = await r.json();
    get("result").textContent = `${r.status}: ` + (answer.error || `${answer.seat} is ${answer.state}`);
  } catch (e) {
    get("result").textContent = e.message;
  }
};
look();
</script>
</html>
)html";

}  // namespace booking
