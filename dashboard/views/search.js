// The query log: requests that ended, the newest first.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "../vendor/hooks.mjs";
import { AllowDialog } from "../app/allow.js";
import { get } from "../app/api.js";
import { fullTime, shown } from "../app/format.js";
import { html } from "../app/html.js";
import { Input, Note, Panel, problemText, Select } from "../app/parts.js";
import { RequestTable } from "../app/request_table.js";
import { texts } from "../app/texts.js";
import { addressOf } from "../app/use.js";

const rare = ["client", "user", "filter", "group", "id", "path"]; // folded unless they are asked for
const members = ["host", "decision", "since", ...rare];
const decisions = [["", texts.search.any], ...Object.entries(texts.decisions)];

export function Search({ place, session, notify }) {
  const query = Object.fromEntries(members.map((name) => [name, place.query.get(name) ?? ""]));
  return html`
    <${Question} key=${place.key} query=${query} />
    <${Answer} key=${place.key + " answer"} query=${query} session=${session} notify=${notify} />`;
}

function Question({ query }) {
  const [asked, setAsked] = useState(query);
  const text = (name, more = {}) => html`<${Input} key=${name} label=${texts.search[name]} value=${asked[name]}
    onChange=${(value) => setAsked({ ...asked, [name]: value })} maxlength="300" spellcheck="false" autocapitalize="none" ...${more} />`;
  const submit = (event) => {
    event.preventDefault();
    location.hash = addressOf("search", Object.fromEntries(members.map((name) => [name, asked[name].trim()])));
  };
  return html`
    <form class="toolbar" onSubmit=${submit}>
      ${text("host")}
      <${Select} label=${texts.search.decision} value=${asked.decision} options=${decisions}
        onChange=${(value) => setAsked({ ...asked, decision: value })} />
      ${text("since", { type: "datetime-local" })}
      <button class="primary" type="submit">${texts.search.verb}</button>
      <details open=${rare.some((name) => query[name])}>
        <summary>${texts.search.more}</summary>
        <div class="toolbar">${rare.map((name) => text(name))}</div>
      </details>
    </form>`;
}

function Answer({ query, session, notify }) {
  const [found, setFound] = useState({ items: [], next: null, isDone: false, page: null, unreadable: [] });
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const [subject, setSubject] = useState(null);
  const stop = useRef(null);
  const ask = async (cursor) => {
    setBusy(true);
    setError(null);
    try {
      const since = query.since && new Date(query.since).toISOString().replace(/\.\d+Z$/, "Z");
      const page = await get("/requests", { ...query, since, cursor }, stop.current.signal);
      setFound((before) => ({ items: [...before.items, ...page.items], next: page.next, isDone: true, page,
        unreadable: [...new Set([...before.unreadable, ...page.unreadable])] }));
    } catch (failed) {
      if (!stop.current.signal.aborted) setError(failed);
    }
    setBusy(false);
  };
  useEffect(() => {
    stop.current = new AbortController();
    ask();
    return () => stop.current.abort();
  }, []);
  const done = (notice) => {
    setSubject(null);
    notify(notice);
  };
  return html`
    ${error && html`<${Note} kind=${error.isMissing ? "info" : "bad"}>${problemText(error)}</${Note}>`}
    ${found.isDone && html`<${Panel}><${RequestTable} caption=${texts.titles.search} requests=${found.items} empty=${texts.search.empty}
      allow=${setSubject} /></${Panel}>`}
    <div class="buttons start" role="status">
      ${isBusy && html`<span class="quiet">${texts.loading}</span>`}
      ${!isBusy && found.next && html`<button onClick=${() => ask(found.next)}>${texts.more}</button>`}
      ${found.page && html`<span class="quiet">
        ${found.page.complete ? texts.search.complete : ""} ${found.page.looked_to && texts.search.lookedTo(fullTime(found.page.looked_to))}
        ${found.unreadable.length > 0 && ` ${texts.search.unreadable(found.unreadable.map(shown).join(", "))}`}</span>`}
    </div>
    ${subject && html`<${AllowDialog} subject=${subject} session=${session} onClose=${() => setSubject(null)} onDone=${done} />`}`;
}
