// What "Allow" opens: an exception for what was blocked, with the most likely answers filled in, so that one more key or
// click is enough. Afterwards the proxy is asked whether it passes now.
// SPDX-License-Identifier: Apache-2.0
import { useState } from "../vendor/hooks.mjs";
import { change, get } from "./api.js";
import { shown } from "./format.js";
import { html } from "./html.js";
import { FormDialog, Input, noticeOf, Select } from "./parts.js";
import { lifetimeOptions, lifetimeOf } from "./lifetimes.js";
import { texts } from "./texts.js";

// What an exception for a request must name: for a path that a filter lists that entry, else the host. A tunnel has no
// path that the proxy sees.
export function entryOf({ host, expression, tunnel }) {
  const listed = /^[UQD] (.+)$/.exec(expression ?? "");
  return listed && !tunnel ? entryOfPath(listed[1]) : (host ?? "");
}

// A "*" in the path of a listed entry is that character, which the API takes for a pattern unless it is escaped.
export const entryOfPath = (listed) => "http://" + listed.replace(/^[^?]*/, (path) => path.replaceAll("*", "%2A"));

// The same entry as something that can be asked for.
const urlOf = (entry, tunnel) => (/^https?:\/\//.test(entry) ? entry : `${tunnel ? "https" : "http"}://${entry}/`);

async function outcome(made, subject, scope) {
  const url = subject.url ?? urlOf(made.item.entry, subject.tunnel);
  const question = { url, client: scope.client ?? subject.client, user: scope.user ?? subject.user };
  const now = await get("/explain", question).catch(() => null);
  const verdict = now?.tunnel ?? now;
  if (!now || now.group !== (scope.group ?? now.group)) return { kind: "good", text: texts.allow.made(made.item.entry) };
  if (verdict.verdict === "blocked") return { kind: "warn", text: texts.allow.stillBlocked(made.item.entry, verdict.filter ?? verdict.reason) };
  return { kind: "good", text: texts.allow.done(made.item.entry) };
}

const scopesOf = ({ group, client, user }, mayAll, mayGroups) => [
  ...(mayAll ? [["all", texts.everybody]] : []),
  ...(group && (mayAll || mayGroups.includes(group)) ? [["group", texts.allow.forGroup(group)]] : []),
  ...(!mayAll ? mayGroups.filter((each) => each !== group).map((each) => ["group:" + each, texts.allow.forGroup(each)]) : []),
  ...(mayAll && client ? [["client", texts.allow.forClient(client)]] : []),
  ...(mayAll && user ? [["user", texts.allow.forUser(user)]] : []),
];

// What was allowed on this page since it was opened: rows of before the exception are shown, and need no other one.
const cures = [];
export function noteCure(made) {
  if (made?.action === "allow") cures.push(made);
}

export const isCured = (request) => cures.some((made) => covers(made, request) && !(Date.parse(request.at) > Date.parse(made.created) + 1000));

const hostOf = (entry) => entry.replace(/^\*\./, "");

function covers(made, request) {
  const entry = entryOf(request);
  const isOfHost = /^[SXW]$/.test(made.kind) && (request.host === hostOf(made.entry) || request.host?.endsWith("." + hostOf(made.entry)));
  const isOfEntry = isOfHost || entry === made.entry || entry === "http://" + made.entry;
  return isOfEntry && (made.filters.length === 0 || made.filters.includes(request.filter)) &&
    (!made.group || made.group === request.group) && (!made.client || made.client === request.client) && (!made.user || made.user === request.user);
}

// `subject`: {entry, filter, group, client, user, url, tunnel, action}, all but entry may be missing. onDone(message, the exception).
export function AllowDialog({ subject, session, onClose, onDone }) {
  const isAllow = subject.action !== "deny";
  const scopes = scopesOf(subject, session.groups.length === 0, session.groups);
  const [entry, setEntry] = useState(subject.entry);
  const [scope, setScope] = useState(scopes[0]?.[0] ?? "all");
  const [against, setAgainst] = useState(subject.filter ? "one" : "all");
  const [lifetime, setLifetime] = useState("day");
  const [why, setWhy] = useState(subject.why ?? (isAllow ? texts.allow.defaultWhy : ""));
  const submit = async () => {
    const whom = { group: scope.startsWith("group:") ? scope.slice(6) : scope === "group" ? subject.group : undefined,
      client: scope === "client" ? subject.client : undefined, user: scope === "user" ? subject.user : undefined };
    const made = await change("POST", "/exceptions", { action: isAllow ? "allow" : "deny", entry, why, ...whom, ...lifetimeOf(lifetime),
      ...(isAllow && against === "one" && subject.filter ? { filters: [subject.filter] } : {}) });
    const message = isAllow ? await outcome(made, subject, whom) : { kind: "good", text: texts.deny.done(made.item.entry) };
    onDone(noticeOf(shown(message.text), made.warnings, message.kind), message.kind === "good" ? made.item : null);
  };
  const verb = isAllow ? texts.allow : texts.deny;
  return html`
    <${FormDialog} title=${subject.entry ? verb.of(shown(subject.entry)) : verb.add} verb=${verb.verb} submit=${submit}
      onClose=${onClose}>
      <${Input} label=${texts.allow.entry} hint=${texts.allow.entryHint} value=${entry} onChange=${setEntry} required maxlength="2000"
        spellcheck="false" autocapitalize="none" />
      <${Select} label=${texts.allow.scope} value=${scope} options=${scopes} onChange=${setScope} />
      ${isAllow && subject.filter && html`<${Select} label=${texts.allow.against} value=${against} onChange=${setAgainst}
        options=${[["one", texts.allow.oneFilter(subject.filter)], ["all", texts.allow.allFilters]]} />`}
      <${Select} label=${texts.lifetimes.label} value=${lifetime} onChange=${setLifetime}
        options=${lifetimeOptions(["hour", "day", "week", ...(isAllow ? ["build"] : []), "ever"])} />
      <${Input} label=${texts.allow.why} value=${why} onChange=${setWhy} required maxlength="400" />
    </${FormDialog}>`;
}
