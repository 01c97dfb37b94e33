// Devices, groups and their times, edited in files of the configuration, where that is allowed (admin.edits).
// SPDX-License-Identifier: Apache-2.0
import { useState } from "../vendor/hooks.mjs";
import { put, putNew, takeAway, takeBack, useEdits, wantList } from "../app/edits.js";
import { count, shown } from "../app/format.js";
import { html } from "../app/html.js";
import { Badge, Card, FormDialog, Loaded, Note, noticeOf, problemText, Select, Table, Text } from "../app/parts.js";
import { texts } from "../app/texts.js";
import { DeviceForm, GroupForm, ScheduleForm } from "./edit_forms.js";

export function Edits({ notify }) {
  const edits = useEdits();
  const [chosen, setChosen] = useState(null); // {kind, item, isRemoved, edits}: item null: a new one; edits: as they were shown
  const [undo, setUndo] = useState(null);
  const done = (text, said = {}) => {
    setChosen(null);
    setUndo(said.undo ?? null);
    notify(noticeOf(text, said.warnings ?? []));
    edits.reload();
  };
  const back = async () => {
    try {
      await takeBack(undo);
      notify({ kind: "good", text: texts.edits.takenBack });
    } catch (error) {
      notify({ kind: "bad", text: problemText(error) });
    }
    setUndo(null);
    edits.reload();
  };
  return html`
    <${Loaded} from=${edits}>${(data) => html`
      ${data.enabled ? html`<p class="quiet">${texts.edits.about(shown(data.folder))}</p>` : html`<${Note}>${texts.edits.off} ${shown(data.reason)}</${Note}>`}
      ${undo && html`<p><button class="small" onClick=${back}>${texts.edits.takeBack}</button></p>`}
      ${Object.keys(kinds).map((kind) => html`<${Kind} key=${kind} kind=${kind} edits=${data} choose=${setChosen} />`)}
      <${Lists} edits=${data} choose=${setChosen} />
      ${chosen && html`<${Dialog} ...${chosen} onClose=${() => setChosen(null)} onDone=${done} />`}`}</${Loaded}>`;
}

const listed = (value) => (Array.isArray(value) ? value.map(shown).join(", ") : value === null ? "" : shown(value));

// "allow", or "bedtime: deny, otherwise: allow".
const timed = (value) => (value === null || typeof value === "string" ? listed(value)
  : Object.entries(value).map(([schedule, word]) => `${shown(schedule)}: ${shown(word)}`).join(", "));

const actions = (filters) => Object.entries(filters ?? {}).map(([filter, value]) => `${shown(filter)}: ${timed(value)}`).join("; ");

const nameColumn = { title: texts.columns.name, cell: (item) => html`<${Text} value=${item.name} />
  ${!item.editable && html`<small class="own-line">${texts.edits.elsewhere(shown(item.file))}</small>`}` };
const column = (title, textOf) => ({ title, kind: "middle", cell: (item) => html`<${Text} value=${textOf(item)} />` });

const kinds = {
  devices: { form: DeviceForm, columns: [nameColumn, column(texts.edits.addresses, (item) => listed(item.addresses)),
    column(texts.columns.group, (item) => item.group ?? texts.none)] },
  groups: { form: GroupForm, columns: [nameColumn,
    column(texts.edits.members, (item) => (item.clients === "devices" ? texts.edits.devicesAlone : listed(item.clients))),
    column(texts.edits.filters, (item) => actions(item.filters)), column(texts.groups.otherwise, (item) => timed(item.otherwise))] },
  schedules: { form: ScheduleForm, columns: [nameColumn, column(texts.edits.times, (item) => listed(item.times))] },
};

function Kind({ kind, edits, choose }) {
  const words = texts.edits[kind];
  const change = { title: texts.actions, kind: "actions", cell: (item) => item.editable && html`
    <button class="small" aria-label=${words.changeOf(shown(item.name))} onClick=${() => choose({ kind, item, edits })}>${texts.edits.change} …</button>
    <button class="small" aria-label=${words.removeOf(shown(item.name))}
      onClick=${() => choose({ kind, item, edits, isRemoved: true })}>${texts.edits.remove} …</button>` };
  const aside = edits.enabled && html`<button class="small" onClick=${() => choose({ kind, item: null, edits })}>${words.add} …</button>`;
  return html`
    <${Card} title=${words.title} id=${`edit-${kind}`} aside=${aside}>
      <${Table} caption=${words.title} columns=${edits.enabled ? [...kinds[kind].columns, change] : kinds[kind].columns} rows=${edits[kind]}
        keyOf=${(item) => item.name} empty=${words.empty} />
    </${Card}>`;
}

const listKinds = { added: "good", wanted: "warn", building: "warn", none: "plain" };
const listColumns = [
  { title: texts.columns.name, cell: (list) => html`<${Text} value=${list.name} /><small class="own-line">${shown(list.category)}</small>` },
  { title: texts.columns.entries, kind: "number", cell: (list) => count(list.entries) },
  { title: texts.edits.licence, cell: (list) => html`<${Text} value=${list.licence} />` },
  { title: texts.edits.state, kind: "middle", cell: (list) => html`<${Badge} kind=${listKinds[list.state]}>${texts.edits.states[list.state]}</${Badge}>
    ${list.why && html` <${Text} value=${list.why} />`}` },
];

function Lists({ edits, choose }) {
  const words = texts.edits.lists;
  const change = { title: texts.actions, kind: "actions", cell: (list) => (list.state === "none" ? html`<button class="small"
    aria-label=${words.addOf(list.name)} onClick=${() => choose({ kind: "lists", item: list, edits })}>${words.add} …</button>` : list.editable && html`
    <button class="small" aria-label=${words.removeOf(list.name)}
      onClick=${() => choose({ kind: "lists", item: list, edits, isRemoved: true })}>${texts.edits.remove} …</button>`) };
  return html`
    <${Card} title=${words.title} id="edit-lists">
      <p class="quiet">${words.about}</p>
      <${Table} caption=${words.title} columns=${edits.enabled ? [...listColumns, change] : listColumns} rows=${edits.lists}
        keyOf=${(list) => list.name} empty=${words.empty} />
    </${Card}>`;
}

function AddList({ list, edits, onClose, onDone }) {
  const words = texts.edits.lists;
  const [exceptions, setExceptions] = useState("allowed");
  const submit = async () => {
    await wantList(edits, list.name, exceptions);
    onDone(words.wanted(list.name));
  };
  return html`
    <${FormDialog} title=${words.addOf(list.name)} verb=${words.add} submit=${submit} onClose=${onClose}>
      <p>${words.addText}</p>
      <${Select} label=${words.exceptions} value=${exceptions} options=${[["allowed", words.taken], ["refused", words.refused]]} onChange=${setExceptions} />
    </${FormDialog}>`;
}

function Dialog({ kind, item, isRemoved, edits, onClose, onDone }) {
  const words = texts.edits[kind];
  if (isRemoved) {
    const submit = async () => onDone(texts.edits.removed(shown(item.name)), await takeAway(edits, kind, item.name));
    return html`<${FormDialog} title=${words.removeOf(shown(item.name))} verb=${texts.edits.remove} kind="danger" submit=${submit} onClose=${onClose}>
      <p>${texts.edits.removeText}</p>
    </${FormDialog}>`;
  }
  if (kind === "lists") return html`<${AddList} list=${item} edits=${edits} onClose=${onClose} onDone=${onDone} />`;
  const save = async (name, changed) => onDone(texts.edits.saved(shown(changed.name ?? name)), await (item ? put : putNew)(edits, kind, name, changed));
  return html`<${kinds[kind].form} item=${item} edits=${edits} save=${save} onClose=${onClose}
    title=${item ? words.changeOf(shown(item.name)) : words.add} />`;
}
