// What people have allowed or blocked in the running proxy.
// SPDX-License-Identifier: Apache-2.0
import { useState } from "../vendor/hooks.mjs";
import { AllowDialog } from "../app/allow.js";
import { change, get, segment } from "../app/api.js";
import { shown } from "../app/format.js";
import { html } from "../app/html.js";
import { Badge, FormDialog, Input, Loaded, Panel, Table, Text, Time } from "../app/parts.js";
import { texts } from "../app/texts.js";
import { useHold, usePages, useSettled } from "../app/use.js";

const period = 15_000; // milliseconds
const insistsAfter = 3; // builds that still list it
const pageSize = 100; // rows that come at a time, the newest first

function scopeOf({ group, client, user }) {
  if (group) return texts.allow.forGroup(shown(group));
  if (client) return texts.allow.forClient(shown(client));
  return user ? texts.allow.forUser(shown(user)) : texts.everybody;
}

function Until({ item }) {
  if (item.until) return html`<${Time} time=${item.until} />`;
  return item.until_build ? texts.exceptions.build : texts.exceptions.ever;
}

const columnsOf = (remove, mayRemove) => [
  { title: texts.columns.action, cell: (item) => html`<${Badge}
    kind=${item.action === "allow" ? "good" : "bad"}>${texts.exceptions[item.action]}</${Badge}>` },
  { title: texts.columns.entry, kind: "wide", cell: (item) => html`<${Text} value=${item.entry} />
    ${item.filters.length > 0 && html` <small>${texts.exceptions.filters(item.filters.map(shown).join(", "))}</small>`}
    ${item.void && html` <${Badge} kind="warn">${texts.exceptions.void}</${Badge}> <small>${shown(item.void)}</small>`}
    ${item.builds >= insistsAfter && html` <${Badge} kind="warn">${texts.exceptions.insists}</${Badge}>`}` },
  { title: texts.columns.scope, cell: scopeOf },
  { title: texts.columns.until, cell: (item) => html`<${Until} item=${item} />` },
  { title: texts.columns.why, cell: (item) => html`<${Text}
    value=${item.why} />${item.report && html` <small>${texts.exceptions.report(item.report)}</small>`}` },
  { title: texts.columns.who, cell: (item) => html`<span class="text">${shown(item.who ?? texts.unknown)}</span> <small><${Time}
    time=${item.created} /></small>` },
  { title: texts.actions, kind: "actions", cell: (item) => mayRemove(item) && html`
    <button class="small" aria-label=${texts.exceptions.removeOf(shown(item.entry))}
      onClick=${() => remove(item)}>${texts.exceptions.remove}</button>` },
];

export function Exceptions({ session, notify }) {
  const [sought, setSought] = useState("");
  const [subject, setSubject] = useState(null);
  const [removed, setRemoved] = useState(null);
  const [held, handlers] = useHold();
  const search = useSettled(sought.trim());
  const ask = (query, signal) => get("/exceptions", { ...query, search, order: "newest", limit: pageSize }, signal);
  const exceptions = usePages(ask, [search], period, held);
  const done = (notice) => {
    setSubject(null);
    setRemoved(null);
    notify(notice);
    exceptions.reload();
  };
  const mayRemove = (item) => session.groups.length === 0 || (item.group && session.groups.includes(item.group)); // as the API has it
  return html`
    <div class="toolbar">
      <${Input} label=${texts.exceptions.search} type="search" value=${sought} onChange=${setSought} />
      <button class="primary" onClick=${() => setSubject({ entry: "", action: "allow" })}>${texts.allow.ellipsis}</button>
      <button onClick=${() => setSubject({ entry: "", action: "deny" })}>${texts.deny.verb} …</button>
    </div>
    <${Loaded} from=${exceptions}>${(data) => html`
      <${Panel} ...${handlers}><${Table} caption=${texts.titles.exceptions} columns=${columnsOf(setRemoved, mayRemove)}
        rows=${data.items} keyOf=${(item) => item.id} empty=${texts.exceptions.empty} />
        ${data.next && html`<button onClick=${exceptions.more}>${texts.more}</button>`}</${Panel}>`}</${Loaded}>
    ${subject && html`<${AllowDialog} subject=${subject} session=${session} onClose=${() => setSubject(null)} onDone=${done} />`}
    ${removed && html`<${Remove} item=${removed} onClose=${() => setRemoved(null)} onDone=${done} />`}`;
}

function Remove({ item, onClose, onDone }) {
  const submit = async () => {
    await change("DELETE", `/exceptions/${segment(item.id)}`);
    onDone({ kind: "good", text: texts.exceptions.removed(shown(item.entry)) });
  };
  return html`
    <${FormDialog} title=${texts.exceptions.removeOf(shown(item.entry))} verb=${texts.exceptions.remove} kind="danger" submit=${submit}
      onClose=${onClose}>
      <p>${texts.exceptions.removeText}</p>
    </${FormDialog}>`;
}
