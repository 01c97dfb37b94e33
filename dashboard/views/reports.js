// Mistakes that people have reported, and what is decided about them.
// SPDX-License-Identifier: Apache-2.0
import { useState } from "../vendor/hooks.mjs";
import { change, get, segment } from "../app/api.js";
import { shown } from "../app/format.js";
import { html } from "../app/html.js";
import { lifetimeOf, lifetimeOptions } from "../app/lifetimes.js";
import { Badge, Choice, Empty, Expression, FormDialog, Input, Loaded, noticeOf, Select, Text, Time } from "../app/parts.js";
import { texts } from "../app/texts.js";
import { addressOf, useData, useHold } from "../app/use.js";

const period = 15_000; // milliseconds

export function Reports({ session, notify }) {
  const [state, setState] = useState("open");
  const [open, setOpen] = useState(null); // {report, isAccept}: the dialog
  const [older, setOlder] = useState({ items: [], next: undefined });
  const [held, handlers] = useHold();
  const reports = useData((signal) => get("/reports", { state }, signal), [state], period, held);
  const choose = (chosen) => {
    setOlder({ items: [], next: undefined });
    setState(chosen);
  };
  const done = (notice) => {
    setOpen(null);
    notify(notice);
    reports.reload();
  };
  return html`
    <${Choice} label=${texts.reports.state} value=${state} options=${Object.entries(texts.reports.states)} onChange=${choose} />
    <${Loaded} from=${reports}>${(data) => {
      const items = [...data.items, ...older.items];
      const next = older.next === undefined ? data.next : older.next;
      const more = async () => {
        const page = await get("/reports", { state, cursor: next });
        setOlder({ items: [...older.items, ...page.items], next: page.next });
      };
      return html`
        ${items.length === 0 && html`<${Empty}>${state === "open" ? texts.reports.emptyOpen : texts.reports.empty}</${Empty}>`}
        <ul class="cards" ...${handlers}>${items.map((report) => html`<li key=${report.id}><${Report} report=${report} decide=${setOpen} /></li>`)}</ul>
        ${next && html`<button onClick=${more}>${texts.more}</button>`}`;
    }}</${Loaded}>
    ${open && html`<${open.isAccept ? Accept : Reject} report=${open.report} session=${session} onClose=${() => setOpen(null)} onDone=${done} />`}`;
}

const Fact = ({ title, children }) => html`<div><dt>${title}</dt><dd>${children}</dd></div>`;

function Report({ report, decide }) {
  const id = `report-${report.id}`;
  const named = (one) => [one.name, one.user, one.client].filter(Boolean).map(shown).join(", ") || texts.unknown;
  const others = (report.reporters ?? []).slice(1); // each with words of its own
  return html`
    <article class="card" aria-labelledby=${id}>
      <h2 id=${id}><${Text} value=${report.url} /></h2>
      ${report.comment && html`<blockquote><${Text} value=${report.comment} /></blockquote>`}
      ${others.map((one) => html`<blockquote key=${one.number}><${Text} value=${`${named(one)}: ${one.comment ?? ""}`} /></blockquote>`)}
      <dl class="facts">
        <${Fact} title=${texts.columns.time}><${Time} time=${report.last} />, ${texts.reports.met(report.count)}</${Fact}>
        <${Fact} title=${texts.reports.reporter}><span class="text">${named(report)}</span></${Fact}>
        ${report.filter && html`<${Fact} title=${texts.columns.filter}>${shown(report.filter)}${report.expression && html` · <${Expression}
          value=${report.expression} />`}</${Fact}>`}
        ${report.group && html`<${Fact} title=${texts.columns.group}>${shown(report.group)}</${Fact}>`}
        ${report.state === "open" && html`<${Fact} title=${texts.reports.opens}><${Text} value=${report.opens} /></${Fact}>`}
        ${report.decided && html`<${Fact} title=${texts.reports.decided}><${Time}
          time=${report.decided} />${report.reviewer && ` ${texts.columns.who.toLowerCase()} ${shown(report.reviewer)}`}</${Fact}>`}
        ${report.words && html`<${Fact} title=${texts.reports.words}><${Text} value=${report.words} /></${Fact}>`}
      </dl>
      ${report.insists && html`<p><${Badge} kind="warn">${texts.reports.insists}</${Badge}></p>`}
      <div class="buttons start">
        ${report.state === "open" && html`
          <button class="primary" aria-label=${texts.reports.acceptOf(shown(report.opens))}
            onClick=${() => decide({ report, isAccept: true })}>${texts.reports.acceptEllipsis}</button>
          <button aria-label=${texts.reports.rejectOf(shown(report.url))}
            onClick=${() => decide({ report, isAccept: false })}>${texts.reports.rejectEllipsis}</button>`}
        <a href=${addressOf("check", { url: report.url, client: report.client, user: report.user })}>${texts.reports.why}</a>
      </div>
    </article>`;
}

function Accept({ report, session, onClose, onDone }) {
  const isFree = session.groups.length === 0;
  const scopes = [
    ...(report.group ? [["group", texts.allow.forGroup(report.group)]] : []),
    ...(isFree && report.client ? [["client", texts.allow.forClient(report.client)]] : []),
    ...(isFree ? [["all", texts.everybody]] : []),
  ];
  const [scope, setScope] = useState(scopes[0]?.[0] ?? "all");
  const [lifetime, setLifetime] = useState(report.filter ? "build" : "day");
  const [words, setWords] = useState("");
  const submit = async () => {
    const done = await change("POST", `/reports/${segment(report.id)}/accept`, { scope, ...lifetimeOf(lifetime), words: words || null });
    onDone(noticeOf(shown(texts.reports.accepted(done.exception.entry)), done.warnings));
  };
  return html`
    <${FormDialog} title=${texts.reports.acceptOf(shown(report.opens))} verb=${texts.reports.accept} submit=${submit} onClose=${onClose}>
      <${Select} label=${texts.allow.scope} value=${scope} options=${scopes} onChange=${setScope} />
      <${Select} label=${texts.lifetimes.label} value=${lifetime} onChange=${setLifetime}
        options=${lifetimeOptions([...(report.filter ? ["build"] : []), "hour", "day", "week", "ever"])} />
      <${Input} label=${texts.reports.words} value=${words} onChange=${setWords} maxlength="400" />
    </${FormDialog}>`;
}

function Reject({ report, onClose, onDone }) {
  const [words, setWords] = useState("");
  const submit = async () => {
    await change("POST", `/reports/${segment(report.id)}/reject`, { words: words || null });
    onDone({ kind: "good", text: texts.reports.rejected });
  };
  return html`
    <${FormDialog} title=${texts.reports.rejectOf(shown(report.url))} verb=${texts.reports.reject} submit=${submit} onClose=${onClose}>
      <${Input} label=${texts.reports.words} value=${words} onChange=${setWords} maxlength="400" />
    </${FormDialog}>`;
}
