// The forms of what edits.js shows. save(name, members) is called with the members of the item, null for those that it is to have no longer.
// SPDX-License-Identifier: Apache-2.0
import { useState } from "../vendor/hooks.mjs";
import { groupsForDevices, textsIn } from "../app/edits.js";
import { shown } from "../app/format.js";
import { html } from "../app/html.js";
import { Field, FormDialog, Input, Select } from "../app/parts.js";
import { texts } from "../app/texts.js";

const plain = { spellcheck: "false", autocapitalize: "none" };

export function DeviceForm({ item, edits, title, save, onClose }) {
  const [name, setName] = useState(item?.name ?? "");
  const [addresses, setAddresses] = useState((item?.addresses ?? []).join(", "));
  const [group, setGroup] = useState(item?.group ?? "");
  const submit = () => save(item?.name ?? name.trim(), { name: name.trim(), addresses: textsIn(addresses), group: group || null });
  return html`
    <${FormDialog} title=${title} verb=${texts.edits.save} submit=${submit} onClose=${onClose}>
      <${Input} label=${texts.columns.name} hint=${texts.clients.nameHint} value=${name} onChange=${setName} required maxlength="64" />
      <${Input} label=${texts.edits.addresses} hint=${texts.edits.addressesHint} value=${addresses} onChange=${setAddresses} required ...${plain} />
      <${Select} label=${texts.columns.group} value=${group} onChange=${setGroup}
        options=${[["", texts.edits.noGroup], ...groupsForDevices(edits).map((each) => [each, shown(each)])]} />
    </${FormDialog}>`;
}

// Choices between which a value of the file is chosen: by its JSON text, so that one that no choice is for is kept as it is.
const keyOf = (value) => JSON.stringify(value ?? null);
const during = (edits, word, otherwise) => edits.schedules.map(({ name }) =>
  [keyOf({ [name]: word, ...(otherwise ? { otherwise } : {}) }), texts.edits.during(texts.values[word], shown(name))]);

function choicesWith(value, choices) {
  return choices.some(([key]) => key === keyOf(value)) ? choices : [...choices, [keyOf(value), texts.edits.asWritten(shown(keyOf(value)))]];
}

const filterChoices = (edits, value) => choicesWith(value, [["null", texts.edits.asEverybody],
  ...["block", "off", "monitor"].map((word) => [keyOf(word), texts.values[word]]), ...during(edits, "block", "off")]);
const otherwiseChoices = (edits, value) => choicesWith(value, [["null", texts.edits.asEverybody],
  ...["allow", "deny"].map((word) => [keyOf(word), texts.values[word]]), ...during(edits, "deny")]);

export function GroupForm({ item, edits, title, save, onClose }) {
  const [name, setName] = useState(item?.name ?? "");
  const [members, setMembers] = useState(Array.isArray(item?.clients) ? item.clients.join(", ") : "");
  const [filters, setFilters] = useState(item?.filters ?? {});
  const [otherwise, setOtherwise] = useState(keyOf(item?.otherwise));
  const [engines, setEngines] = useState((item?.safe_search ?? []).join(", "));
  const choose = (filter, key) => setFilters((before) => ({ ...before, [filter]: JSON.parse(key) }));
  const submit = () => {
    const chosen = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== null));
    const clients = textsIn(members), search = textsIn(engines);
    const isOfUsers = item !== null && item.clients === null && clients.length === 0; // it asks for something else, which stays
    return save(item?.name ?? name.trim(), { ...(isOfUsers ? {} : { clients: clients.length ? clients : "devices" }),
      filters: Object.keys(chosen).length ? chosen : null, otherwise: JSON.parse(otherwise), safe_search: search.length ? search : null });
  };
  return html`
    <${FormDialog} title=${title} verb=${texts.edits.save} submit=${submit} onClose=${onClose}>
      ${!item && html`<${Input} label=${texts.columns.name} hint=${texts.edits.labelHint} value=${name} onChange=${setName} required maxlength="64"
        pattern="[A-Za-z0-9._\\-]+" ...${plain} />`}
      <${Input} label=${texts.edits.members} hint=${texts.edits.membersHint} value=${members} onChange=${setMembers} ...${plain} />
      ${edits.filters.map((filter) => html`<${Select} key=${filter} label=${texts.edits.filter(shown(filter))} value=${keyOf(filters[filter])}
        options=${filterChoices(edits, item?.filters?.[filter])} onChange=${(key) => choose(filter, key)} />`)}
      <${Select} label=${texts.groups.otherwise} value=${otherwise} options=${otherwiseChoices(edits, item?.otherwise)} onChange=${setOtherwise} />
      <${Input} label=${texts.groups.search} hint=${texts.edits.searchHint} value=${engines} onChange=${setEngines} ...${plain} />
    </${FormDialog}>`;
}

export function ScheduleForm({ item, title, save, onClose }) {
  const [name, setName] = useState(item?.name ?? "");
  const [times, setTimes] = useState((item?.times ?? []).join("\n"));
  const submit = () => save(item?.name ?? name.trim(), { times: textsIn(times, "\n") });
  return html`
    <${FormDialog} title=${title} verb=${texts.edits.save} submit=${submit} onClose=${onClose}>
      ${!item && html`<${Input} label=${texts.columns.name} hint=${texts.edits.labelHint} value=${name} onChange=${setName} required maxlength="64"
        pattern="[A-Za-z0-9._\\-]+" ...${plain} />`}
      <${Field} label=${texts.edits.times} hint=${texts.edits.timesHint}>
        ${(id) => html`<textarea id=${id} rows="4" required value=${times} onInput=${(event) => setTimes(event.currentTarget.value)} ...${plain} />`}
      </${Field}>
    </${FormDialog}>`;
}
