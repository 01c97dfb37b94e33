// Who has asked lately, with the names of devices; and the command that names a device and puts it in a group.
// SPDX-License-Identifier: Apache-2.0
import { useState } from "../vendor/hooks.mjs";
import { get, getTagged } from "../app/api.js";
import { put, putNew } from "../app/edits.js";
import { count, shown } from "../app/format.js";
import { html } from "../app/html.js";
import { Empty, FormDialog, Input, Loaded, noticeOf, Panel, Select, Table, Text, Time } from "../app/parts.js";
import { hasRole } from "../app/roles.js";
import { texts } from "../app/texts.js";
import { useData, useHold } from "../app/use.js";
import { DeviceForm } from "./edit_forms.js";

const period = 10_000; // milliseconds

export function Clients({ session, notify }) {
  const [chosen, setChosen] = useState(null);
  const [sought, setSought] = useState("");
  const [held, handlers] = useHold();
  const clients = useData((signal) => get("/clients", {}, signal), [], period, held);
  const done = (notice) => {
    setChosen(null);
    if (notice) notify(notice);
  };
  return html`
    <p class="quiet">${texts.clients.about}</p>
    <div class="toolbar"><${Input} label=${texts.clients.search} type="search" value=${sought} onChange=${setSought} /></div>
    <${Loaded} from=${clients}>${(data) => html`
      <p class="quiet">${texts.clients.since}<${Time} time=${data.since} />. ${data.clients !== "full" && texts.clients.masked}</p>
      <${Panel} ...${handlers}><${Table} caption=${texts.titles.clients} columns=${columnsOf(data.clients === "full" && setChosen)}
        rows=${data.items.filter((row) => isSought(row, sought))} keyOf=${(row) => row.client} empty=${texts.clients.empty} /></${Panel}>`}</${Loaded}>
    ${chosen && html`<${PutInGroup} client=${chosen} session=${session} onDone=${done} />`}`;
}

const isSought = (row, sought) => [row.client, row.device, row.user, row.group]
  .some((text) => (text ?? "").toLowerCase().includes(sought.trim().toLowerCase()));

const columnsOf = (choose) => [
  { title: texts.columns.client, kind: "wide", cell: (row) => (row.device === null ? html`<${Text} value=${row.client} />` : html`
    <${Text} value=${row.device} /><small class="own-line"><${Text} value=${row.client} /></small>`) },
  { title: texts.columns.group, cell: (row) => (row.group === null ? texts.none : html`<${Text} value=${row.group} />`) },
  { title: texts.columns.user, cell: (row) => (row.user === null ? texts.unknown : html`<${Text} value=${row.user} />`) },
  { title: texts.columns.requests, kind: "number", cell: (row) => count(row.requests) },
  { title: texts.columns.blocked, kind: "number", cell: (row) => count(row.blocked) },
  { title: texts.columns.last, cell: (row) => html`<${Time} time=${row.last} />` },
  ...(choose ? [{ title: texts.actions, kind: "actions", cell: (row) => html`<button class="small"
    aria-label=${texts.clients.putOf(shown(row.device ?? row.client))} onClick=${() => choose(row)}>${texts.clients.put} …</button>` }] : []),
];

// For a shell. A device that has a name keeps its addresses.
const quoted = (text) => (/^[A-Za-z0-9._-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const commandFor = (client, name, group) =>
  ["bloomwall device add", quoted(name), ...(client.device === name ? [] : [client.client]), "--group", quoted(group)].join(" ");

// Whoever may edit the configuration here does it here; others get the command.
function PutInGroup({ client, session, onDone }) {
  const groups = useData((signal) => get("/groups", {}, signal), []);
  const edits = useData((signal) => (hasRole(session, "admin") ? getTagged("/edits", signal) : Promise.resolve({ data: { enabled: false } })), []);
  const known = { ...groups, data: groups.data && (edits.data || edits.error) && groups.data };
  return html`<${Loaded} from=${known}>${(data) => (edits.data?.data.enabled
    ? html`<${EditForm} client=${client} edits=${{ ...edits.data.data, tag: edits.data.tag }} onDone=${onDone} />`
    : html`<${GroupForm} client=${client} onDone=${onDone}
      groups=${data.items.filter((group) => group.criteria.some((each) => each.kind === "clients")).map((group) => group.name)} />`)}</${Loaded}>`;
}

function EditForm({ client, edits, onDone }) {
  const device = edits.devices.find((each) => each.name === client.device);
  const item = device ?? { name: "", addresses: [client.client], group: null };
  const save = async (name, changed) => {
    const said = await (device ? put : putNew)(edits, "devices", device?.name ?? changed.name, changed);
    onDone(noticeOf(texts.edits.saved(shown(changed.name)), said.warnings));
  };
  return html`<${DeviceForm} item=${item} edits=${edits} save=${save} onClose=${() => onDone(null)}
    title=${texts.clients.putOf(shown(client.device ?? client.client))} />`;
}

function GroupForm({ client, groups, onDone }) {
  const [name, setName] = useState(client.device ?? "");
  const [group, setGroup] = useState(groups.includes(client.group) ? client.group : groups[0]);
  const command = commandFor(client, name.trim() || "NAME", group);
  const submit = async () => {
    if (groups.length === 0) return onDone(null);
    const isCopied = await navigator.clipboard?.writeText(command).then(() => true, () => false);
    if (!isCopied) throw Object.assign(new Error(), { status: 1, title: texts.clients.notCopied });
    onDone({ kind: "good", text: texts.clients.copied });
  };
  return html`
    <${FormDialog} title=${texts.clients.putOf(shown(client.device ?? client.client))} submit=${submit} onClose=${() => onDone(null)}
      verb=${groups.length === 0 ? texts.close : texts.clients.copy}>
      ${groups.length === 0 ? html`<${Empty}>${texts.clients.noGroups}</${Empty}>` : html`
        <${Input} label=${texts.columns.name} hint=${texts.clients.nameHint} value=${name} onChange=${setName} required maxlength="64" />
        <${Select} label=${texts.columns.group} value=${group} options=${groups.map((each) => [each, shown(each)])} onChange=${setGroup} />
        <p>${texts.clients.then}</p>
        <p><code class="text">${shown(command)}</code></p>`}
    </${FormDialog}>`;
}
