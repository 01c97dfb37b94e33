// What each group does with filters now, its schedules, and switches that people set over both until they end.
// SPDX-License-Identifier: Apache-2.0
import { useState } from "../vendor/hooks.mjs";
import { change, get, segment } from "../app/api.js";
import { relative, shown } from "../app/format.js";
import { html } from "../app/html.js";
import { lifetimeOf, lifetimeOptions } from "../app/lifetimes.js";
import { Badge, Card, Empty, FormDialog, Input, Kept, Loaded, noticeOf, Select, Time } from "../app/parts.js";
import { hasRole } from "../app/roles.js";
import { texts } from "../app/texts.js";
import { useData } from "../app/use.js";

const period = 5000; // milliseconds
const kinds = { block: "bad", deny: "bad", monitor: "warn", allow: "good", off: "plain", no_decrypt: "plain" };
const Value = ({ value }) => html`<${Badge} kind=${kinds[value] ?? "plain"}>${texts.values[value] ?? shown(value)}</${Badge}>`;

// "filters.games=block" and "pause", as the API shows switches: the key alone.
const keyOf = (item) => item.switch.split("=", 1)[0];

export function Groups({ session, notify }) {
  const [chosen, setChosen] = useState(null);
  const groups = useData((signal) => get("/groups", {}, signal), [], period);
  const done = (notice) => {
    setChosen(null);
    notify(notice);
    groups.reload();
  };
  const end = async (item) => {
    try {
      await change("DELETE", switchPath(item.group, keyOf(item)));
      done({ kind: "good", text: texts.groups.ended(shown(item.switch)) });
    } catch (error) {
      done({ kind: "bad", text: shown(error.message) });
    }
  };
  const mayChange = (group) => hasRole(session, "reviewer") && (session.groups.length === 0 || session.groups.includes(group.name));
  return html`
    <${Loaded} from=${groups}>${(data) => data.items.length === 0 ? html`<${Empty}>${texts.groups.empty}</${Empty}>` : html`
      <div class="columns">
        ${data.items.map((group) => html`<${Group} key=${group.name} group=${group} all=${data.items.length} mayChange=${mayChange(group)}
          choose=${setChosen} end=${end} />`)}
      </div>`}</${Loaded}>
    ${chosen && html`<${SetSwitch} group=${chosen} session=${session} onClose=${() => setChosen(null)} onDone=${done} />`}`;
}

const switchPath = (group, key) => `/groups/${segment(group)}/switches/${segment(key)}`;

// In the order in which they are asked; the members of an object would come by their numbers where they are named by some.
const actionsOf = (group) => group.filters ?? Object.entries(group.actions).map(([name, action]) => ({ name, action }));

// Every criterion must hold. Names are there for operators alone.
function Criteria({ of }) {
  if (of.length === 0) return html`<div><dt>${texts.groups.matches}</dt><dd>${texts.groups.everybody}</dd></div>`;
  const more = ({ count, names }) => names.length > 0 && count > names.length && ` ${texts.groups.more(count - names.length)}`;
  return of.map((each) => html`<div key=${each.kind}><dt>${texts.groups.criteria[each.kind] ?? shown(each.kind)}</dt><dd class="text">${
    each.names.length === 0 ? each.count : each.names.map(shown).join(", ")}${more(each)}</dd></div>`);
}

function Group({ group, all, mayChange, choose, end }) {
  const aside = mayChange && html`<button class="small" aria-label=${texts.groups.setOf(shown(group.name))}
    onClick=${() => choose(group)}>${texts.groups.set} …</button>`;
  return html`
    <${Card} title=${shown(group.name)} id=${`group-${group.index}`} aside=${aside}>
      <p class="quiet">${texts.groups.position(group.index + 1, all)}</p>
      ${group.criteria && html`<h3>${texts.groups.matches}</h3><dl class="facts criteria"><${Criteria} of=${group.criteria} /></dl>`}
      <dl class="facts">
        ${actionsOf(group).map(({ name, action }) => html`<div key=${name}><dt>${shown(name)}</dt><dd><${Value} value=${action} /></dd></div>`)}
        <div><dt>${texts.groups.otherwise}</dt><dd><${Value} value=${group.otherwise} /></dd></div>
        ${group.safe_search.length > 0 && html`<div><dt>${texts.groups.search}</dt><dd>${group.safe_search.map(shown).join(", ")}</dd></div>`}
      </dl>
      ${group.schedules.length > 0 && html`<h3>${texts.groups.schedules}</h3>
        <ul class="plain-list">${group.schedules.map((schedule) => html`<li key=${schedule.name}>
          ${shown(schedule.name)} <${Badge}
            kind=${schedule.active ? "good" : "plain"}>${schedule.active ? texts.groups.active : texts.groups.inactive}</${Badge}>
          ${schedule.until && html` <span class="quiet">${texts.groups.changes}<${Time} time=${schedule.until} /></span>`}
        </li>`)}</ul>`}
      <h3>${texts.groups.switches}</h3>
      ${group.switches.length === 0 && html`<p class="quiet">${texts.groups.noSwitches}</p>`}
      <${Kept}><ul class="plain-list">${group.switches.map((item) => html`<li key=${item.switch}>
        <strong class="text">${shown(item.switch)}</strong>, ${texts.groups.ends}<${Time} time=${item.until} />
        ${item.why && html`, <span class="text">${shown(item.why)}</span>`} <span class="quiet text">(${shown(item.who)})</span>
        ${mayChange && html` <button class="small" aria-label=${texts.groups.endOf(shown(item.switch), shown(group.name))}
          onClick=${() => end(item)}>${texts.groups.end}</button>`}
      </li>`)}</ul></${Kept}>
    </${Card}>`;
}

// "key value" for each thing that a switch can do.
const choicesOf = (group, session) => [
  ["pause ", texts.groups.pause],
  ["otherwise deny", texts.groups.otherwiseDeny],
  ["otherwise allow", texts.groups.otherwiseAllow],
  ...actionsOf(group).flatMap(({ name: filter }) => ["block", "monitor", "off", ...(hasRole(session, "operator") ? ["allow"] : [])]
    .map((value) => [`filters.${filter} ${value}`, texts.groups.filter(shown(filter), texts.values[value])])),
];

function SetSwitch({ group, session, onClose, onDone }) {
  const choices = choicesOf(group, session);
  const [choice, setChoice] = useState(choices[0][0]);
  const [lifetime, setLifetime] = useState("lesson");
  const [why, setWhy] = useState("");
  const submit = async () => {
    const [key, value] = choice.split(" ");
    const made = await change("PUT", switchPath(group.name, key), { ...lifetimeOf(lifetime), ...(value ? { value } : {}), ...(why ? { why } : {}) });
    const ends = texts.groups.ends + relative(made.item.until);
    onDone(noticeOf(`${shown(texts.groups.done(made.item.switch))} (${ends})`, made.warnings));
  };
  return html`
    <${FormDialog} title=${texts.groups.setOf(shown(group.name))} verb=${texts.groups.set} submit=${submit} onClose=${onClose}>
      <${Select} label=${texts.groups.what} value=${choice} options=${choices} onChange=${setChoice} />
      <${Select} label=${texts.lifetimes.label} value=${lifetime} onChange=${setLifetime}
        options=${lifetimeOptions(["lesson", "hour", "day", "week"])} />
      <${Input} label=${texts.groups.why} value=${why} onChange=${setWhy} maxlength="400" />
    </${FormDialog}>`;
}
