// Tokens: who may use the API, this page and the proxy by one.
// SPDX-License-Identifier: Apache-2.0
import { useState } from "../vendor/hooks.mjs";
import { change, get, segment } from "../app/api.js";
import { shown } from "../app/format.js";
import { html } from "../app/html.js";
import { lifetimeOf, lifetimeOptions } from "../app/lifetimes.js";
import { FormDialog, Input, Loaded, Note, Panel, Select, Table, Time } from "../app/parts.js";
import { texts } from "../app/texts.js";
import { usePages, useSettled } from "../app/use.js";

const pageSize = 100; // rows that come at a time, by name

const columnsOf = (remove) => [
  { title: texts.columns.name, kind: "wide", cell: (token) => html`<span class="text">${shown(token.name)}</span>` },
  { title: texts.columns.role, cell: (token) => (token.role ? texts.roles[token.role] : texts.tokens.noRole) },
  { title: texts.columns.groups, cell: (token) => html`${token.groups.map(shown).join(", ") || texts.none}${
    token.faults && html` <small>${token.faults.map(shown).join("; ")}</small>`}` },
  { title: texts.columns.created, cell: (token) => html`<${Time} time=${token.created} />` },
  { title: texts.columns.until, cell: (token) => html`<${Time} time=${token.until} otherwise=${texts.exceptions.ever} />` },
  { title: texts.actions, kind: "actions", cell: (token) => html`
    <button class="small" aria-label=${texts.tokens.removeOf(shown(token.name))} onClick=${() => remove(token)}>${texts.tokens.remove}</button>` },
];

export function Tokens({ notify }) {
  const [isAdding, setAdding] = useState(false);
  const [made, setMade] = useState(null);
  const [removed, setRemoved] = useState(null);
  const [sought, setSought] = useState("");
  const search = useSettled(sought.trim());
  const tokens = usePages((query, signal) => get("/tokens", { ...query, search, limit: pageSize }, signal), [search]);
  const done = (notice) => {
    setRemoved(null);
    notify(notice);
    tokens.reload();
  };
  const added = (token) => {
    setAdding(false);
    setMade(token);
    tokens.reload();
  };
  return html`
    <p class="quiet">${texts.tokens.users}</p>
    <div class="toolbar">
      <${Input} label=${texts.tokens.search} type="search" value=${sought} onChange=${setSought} />
      <button class="primary" onClick=${() => setAdding(true)}>${texts.tokens.add} …</button>
    </div>
    ${made && html`<${Made} token=${made} onClose=${() => setMade(null)} />`}
    <${Loaded} from=${tokens}>${(data) => html`<${Panel}><${Table} caption=${texts.titles.tokens} columns=${columnsOf(setRemoved)} rows=${data.items}
      keyOf=${(token) => token.name} empty=${texts.tokens.empty} />
      ${data.next && html`<button onClick=${tokens.more}>${texts.more}</button>`}</${Panel}>`}</${Loaded}>
    ${isAdding && html`<${Add} onClose=${() => setAdding(false)} onDone=${added} />`}
    ${removed && html`<${Remove} token=${removed} onClose=${() => setRemoved(null)} onDone=${done} />`}`;
}

// The token itself, which the proxy does not keep.
function Made({ token, onClose }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(token).catch(() => null);
    setCopied(true);
  };
  return html`
    <${Note} kind="good">
      <p>${texts.tokens.made}</p>
      <p><code class="text token">${token}</code></p>
      <div class="buttons start">
        ${navigator.clipboard && html`<button class="small" onClick=${copy}>${isCopied ? texts.copied : texts.copy}</button>`}
        <button class="small" onClick=${onClose}>${texts.close}</button>
      </div>
    </${Note}>`;
}

function Add({ onClose, onDone }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState("");
  const [groups, setGroups] = useState("");
  const [lifetime, setLifetime] = useState("quarter");
  const submit = async () => {
    const named = groups.split(",").map((group) => group.trim()).filter(Boolean);
    const done = await change("POST", "/tokens", { name: name.trim(), groups: named, ...(role ? { role } : {}), ...lifetimeOf(lifetime) });
    onDone(done.token);
  };
  return html`
    <${FormDialog} title=${texts.tokens.add} verb=${texts.tokens.addVerb} submit=${submit} onClose=${onClose}>
      <${Input} label=${texts.tokens.name} hint=${texts.tokens.nameHint} value=${name} onChange=${setName} required
        pattern="[A-Za-z0-9._\\-]+" maxlength="64" spellcheck="false" autocapitalize="none" />
      <${Select} label=${texts.tokens.role} value=${role} onChange=${setRole}
        options=${[["", texts.tokens.noRole], ...Object.entries(texts.roles)]} />
      <${Input} label=${texts.tokens.groups} hint=${texts.tokens.groupsHint} value=${groups} onChange=${setGroups} maxlength="1000"
        spellcheck="false" />
      <${Select} label=${texts.lifetimes.label} value=${lifetime} onChange=${setLifetime}
        options=${lifetimeOptions(["day", "week", "month", "quarter", "year", "ever"])} />
    </${FormDialog}>`;
}

function Remove({ token, onClose, onDone }) {
  const submit = async () => {
    await change("DELETE", `/tokens/${segment(token.name)}`);
    onDone({ kind: "good", text: texts.tokens.removed(shown(token.name)) });
  };
  return html`
    <${FormDialog} title=${texts.tokens.removeOf(shown(token.name))} verb=${texts.tokens.remove} kind="danger" submit=${submit} onClose=${onClose}>
      <p>${texts.tokens.removeText}</p>
    </${FormDialog}>`;
}
