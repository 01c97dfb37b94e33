// The decision about a URL now, for whom it is asked, and which lines of which lists are behind it.
// SPDX-License-Identifier: Apache-2.0
import { useState } from "../vendor/hooks.mjs";
import { AllowDialog, entryOfPath } from "../app/allow.js";
import { get } from "../app/api.js";
import { shown } from "../app/format.js";
import { html } from "../app/html.js";
import { Card, Decision, Empty, Expression, Input, Loaded, Note, Table, Text, Time } from "../app/parts.js";
import { texts } from "../app/texts.js";
import { addressOf, useData } from "../app/use.js";

export function Check({ place, session, notify }) {
  const query = Object.fromEntries(["url", "client", "user"].map((name) => [name, place.query.get(name) ?? ""]));
  return html`
    <${Question} key=${place.key} query=${query} />
    ${query.url && html`<${Answer} key=${place.key + " answer"} query=${query} session=${session} notify=${notify} />`}`;
}

function Question({ query }) {
  const [url, setUrl] = useState(query.url);
  const [client, setClient] = useState(query.client);
  const [user, setUser] = useState(query.user);
  const submit = (event) => {
    event.preventDefault();
    location.hash = addressOf("check", { url: url.trim(), client: client.trim(), user: user.trim() });
  };
  return html`
    <form class="toolbar" onSubmit=${submit}>
      <${Input} label=${texts.check.url} value=${url} onChange=${setUrl} required maxlength="2000" placeholder="https://example.com/"
        spellcheck="false" autocapitalize="none" />
      <${Input} label=${texts.check.client} value=${client} onChange=${setClient} maxlength="64" spellcheck="false" />
      <${Input} label=${texts.check.user} value=${user} onChange=${setUser} maxlength="255" spellcheck="false" autocapitalize="none" />
      <button class="primary" type="submit">${texts.check.verb}</button>
    </form>`;
}

function Answer({ query, session, notify }) {
  const [subject, setSubject] = useState(null);
  const explained = useData((signal) => get("/explain", query, signal), [query.url, query.client, query.user]);
  const why = useData((signal) => get("/why", { url: query.url }, signal), [query.url]);
  const done = (notice) => {
    setSubject(null);
    notify(notice);
    explained.reload();
  };
  return html`
    <${Card} title=${texts.check.verdict} id="verdict">
      <${Loaded} from=${explained}>${(data) => html`<${Verdict} data=${data} query=${query} allow=${setSubject} />`}</${Loaded}>
    </${Card}>
    <${Card} title=${texts.check.why} id="why">
      <${Loaded} from=${why}>${(data) => html`<${Sources} data=${data} />`}</${Loaded}>
    </${Card}>
    ${subject && html`<${AllowDialog} subject=${subject} session=${session} onClose=${() => setSubject(null)} onDone=${done} />`}`;
}

const Fact = ({ title, children }) => html`<div><dt>${title}</dt><dd>${children}</dd></div>`;
const What = ({ of }) => html`<${Decision} decision=${of.verdict} /> <span
  class="text">${shown(of.filter ?? texts.reasons[of.reason] ?? of.reason)}</span>
  ${of.expression && html` · <${Expression} value=${of.expression} />`}`;

function Verdict({ data, query, allow }) {
  const blocking = [data, data.tunnel].find((each) => each?.verdict === "blocked");
  const host = hostOf(data.canonical ?? data.url);
  const isPath = /^[UQD] /.test(blocking?.expression ?? "");
  const subject = blocking && { entry: isPath ? entryOfPath(blocking.expression.slice(2)) : host, filter: blocking.filter, group: data.group,
    client: query.client || null, user: query.user || null, url: data.url, tunnel: blocking === data.tunnel };
  return html`
    <dl class="facts">
      <${Fact} title=${texts.columns.url}><${Text} value=${data.canonical ?? data.url} /></${Fact}>
      <${Fact} title=${texts.columns.decision}><${What} of=${data} /></${Fact}>
      ${data.tunnel && html`<${Fact} title=${texts.check.tunnel}><${What} of=${data.tunnel} /></${Fact}>`}
      ${data.access && data.access !== "allowed" && html`<${Fact} title=${texts.check.access}>${shown(texts.reasons[data.access] ?? data.access)}</${Fact}>`}
      ${data.group && html`<${Fact} title=${texts.check.inGroup}>${shown(data.group)}</${Fact}>`}
      ${data.valid_until && html`<${Fact} title=${texts.check.holds}><${Time} time=${data.valid_until} /></${Fact}>`}
      ${data.exception && html`<${Fact} title=${texts.check.exception}>${data.exception}</${Fact}>`}
      ${data.dialled_as && html`<${Fact} title=${texts.check.dialled}><${Text} value=${data.dialled_as} /></${Fact}>`}
    </dl>
    ${subject && host && html`<div class="buttons start"><button class="primary"
      onClick=${() => allow(subject)}>${texts.allow.ellipsis}</button></div>`}`;
}

const hostOf = (url) => /^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:[^/?#@]*@)?(\[[^\]]*\]|[^/:?#]*)/i.exec(url)?.[1] ?? "";

const lineColumns = [
  { title: texts.columns.list, cell: (found) => html`<${Text} value=${found.list} />` },
  { title: texts.columns.line, kind: "number", cell: (found) => found.line },
  { title: texts.columns.text, kind: "wide", cell: (found) => html`<${Text} of="code" value=${found.text} />` },
];

function Sources({ data }) {
  return html`
    ${data.errors.map((error) => html`<${Note} key=${error} kind="warn">${shown(error)}</${Note}>`)}
    ${data.filters.length === 0 && html`<${Empty}>${texts.check.notListed}</${Empty}>`}
    ${data.filters.map((found) => html`
      <div key=${found.filter}>
        <h3>${shown(found.filter)}${found.action === "allow" && ` ${texts.check.letsPass}`}:
          ${" "}${found.expressions.map((each, i) => html`${i > 0 && ", "}<${Expression} key=${each} value=${each} />`)}</h3>
        <p>${texts.check.sources[found.source] ?? shown(found.source)}</p>
        ${found.lines.length > 0 && html`<${Table} caption=${texts.check.why} columns=${lineColumns} rows=${found.lines}
          keyOf=${(line) => `${line.list} ${line.line}`} />`}
      </div>`)}`;
}
