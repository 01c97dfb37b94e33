// What surrounds every view: the proxy's state, the menu, who is signed in, and the last message.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "../vendor/hooks.mjs";
import { get, whenReached } from "./api.js";
import { shown, timeZone } from "./format.js";
import { html } from "./html.js";
import { Badge, Note } from "./parts.js";
import { hasRole } from "./roles.js";
import { texts } from "./texts.js";
import { addressOf, useData, useMedia } from "./use.js";
import { sections, viewOf } from "./views.js";

const statusPeriod = 10_000; // milliseconds

export function Shell({ session, place, end, notice, dismiss, children }) {
  const status = useData((signal) => get("/status", {}, signal), [], statusPeriod);
  const current = viewOf(place.view)?.name;
  return html`
    <a class="skip" href="#content" onClick=${(event) => { event.preventDefault(); document.querySelector("h1").focus(); }}>${texts.skip}</a>
    <header>
      <a class="brand" href="#/">${texts.name}</a>
      <${State} status=${status} />
      <div class="who">
        <span>${texts.session.as(shown(session.who), texts.roles[session.role])}${session.groups.length > 0 &&
          ` ${texts.session.onlyGroups(session.groups.map(shown).join(", "))}`}</span>
        <button class="small" onClick=${end}>${texts.signOut}</button>
      </div>
    </header>
    <${Menu} session=${session} current=${current} />
    <main id="content">
      <div aria-live="polite" class="notice">
        ${notice && html`<${Note} kind=${notice.kind}>${notice.text} <button class="small" onClick=${dismiss}>${texts.close}</button></${Note}>`}
      </div>
      ${status.data && !status.data.state.usable && html`<${Note} kind="bad">${texts.status.stateLost}</${Note}>`}
      ${children}
    </main>
    <footer><${Licences} version=${status.data?.version} /><p class="quiet">${texts.zone(timeZone())}</p></footer>`;
}

// Of whatever was asked last, by any view.
function State({ status }) {
  const [isReached, setReached] = useState(true);
  useEffect(() => whenReached(setReached), []);
  if (status.error || !isReached) return html`<${Badge} kind="bad">${texts.noAnswer}</${Badge}>`;
  if (!status.data) return html`<span class="badge plain">…</span>`;
  const { phase } = status.data;
  return html`<${Badge} kind=${phase === "serving" ? "good" : "warn"}>${texts.phases[phase] ?? shown(phase)}</${Badge}>`;
}

// Beside the content; on a narrow screen folded behind its title.
function Menu({ session, current }) {
  const isWide = useMedia("(min-width: 76rem)");
  const details = useRef(null);
  useEffect(() => {
    if (!isWide) details.current.open = false;
  }, [current, isWide]);
  const items = sections.map((section) => ({ ...section, views: section.views.filter((view) => hasRole(session, view.role)) }));
  return html`
    <nav aria-label=${texts.navigation}>
      <details ref=${details} open=${isWide}>
        <summary>${texts.menu}: ${texts.titles[current] ?? ""}</summary>
        ${items.filter((section) => section.views.length > 0).map((section) => html`
          <p key=${section.name} class="menu-title" id=${`menu-${section.name}`}>${texts.sections[section.name]}</p>
          <ul key=${section.name + "s"} aria-labelledby=${`menu-${section.name}`}>
            ${section.views.map((view) => html`<li key=${view.name}>
              <a href=${addressOf(view.name)} aria-current=${view.name === current ? "page" : undefined}>${texts.titles[view.name]}</a>
            </li>`)}
          </ul>`)}
      </details>
    </nav>`;
}

function Licences({ version }) {
  const of = (name) => new URL(`../vendor/${name}.txt`, import.meta.url).pathname;
  return html`<p class="quiet">${texts.name} ${version ?? ""} · ${texts.licences}:
    ${["preact", "htm", "uplot"].map((name) => html` <a key=${name} href=${of(name)}>${name}</a>`)}</p>`;
}
