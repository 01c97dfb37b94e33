// Requests as rows, with what can be done about a blocked one.
// SPDX-License-Identifier: Apache-2.0
import { entryOf } from "./allow.js";
import { get } from "./api.js";
import { fullTime, relative, shown, timeOfDay } from "./format.js";
import { html } from "./html.js";
import { Badge, Decision, Expression, Name, Table, Text } from "./parts.js";
import { texts } from "./texts.js";
import { addressOf, useData } from "./use.js";

const whoOf = (request) => [request.client, request.user].filter(Boolean).map(shown).join(", ") || texts.unknown;

// What an exception would be for (allow.js). `isNamed`: clients and users stand in requests as they are.
const subjectOf = (request, isNamed) => ({ entry: entryOf(request), filter: request.filter, group: request.group, url: request.url,
  client: isNamed ? request.client : null, user: isNamed ? request.user : null, tunnel: request.tunnel });

const checkOf = (request, { client, user }) => addressOf("check", { url: request.url ?? request.host, client, user });

const Reason = ({ request }) => html`
  <span class="text">${shown(request.filter ?? texts.reasons[request.reason] ?? request.reason)}</span>
  ${request.expression && html`<small class="own-line"><${Expression} value=${request.expression} /></small>`}`;

// `isLive`: times to the second; `isBlocked`: all of them were, which need not be said of each.
// `isCured`: whether an exception was made for it since.
export function RequestTable({ caption, requests, empty, allow, isCured = () => false, isLive = false, isBlocked = false }) {
  // Of a network or a pseudonym, as the log may keep them, no exception can be made, and nothing can be asked.
  const status = useData((signal) => get("/status", {}, signal), []);
  const isNamed = status.data?.query_log.clients === "full";
  const columns = [
    { title: texts.columns.time, kind: "time", cell: (request) => html`<time datetime=${request.at}
      title=${fullTime(request.at)}>${isLive ? timeOfDay(request.at) : relative(request.at)}</time>` },
    { title: texts.columns.url, kind: "wide", cell: (request) => html`<${Text} value=${request.url ?? request.host ?? texts.unknown} />` },
    ...(isBlocked ? [] : [{ title: texts.columns.decision, cell: (request) => html`<${Decision} decision=${request.decision} />` }]),
    { title: texts.columns.why, kind: "middle", cell: (request) => html`<${Reason} request=${request} />` },
    { title: texts.columns.client, kind: "middle", cell: (request) => html`<span class="text">${whoOf(request)}</span>` },
    { title: texts.columns.group, cell: (request) => html`<${Name} value=${request.group ?? texts.unknown} />` },
    { title: texts.actions, kind: "actions", cell: (request) => request.decision === "blocked" && request.host && html`
      ${isCured(request) ? html`<${Badge} kind="good">${texts.just.cured}</${Badge}>` : html`<button class="small"
        aria-label=${texts.allow.of(shown(entryOf(request)))} onClick=${() => allow(subjectOf(request, isNamed))}>${texts.allow.ellipsis}</button>`}
      <a class="small" href=${checkOf(request, subjectOf(request, isNamed))}>${texts.columns.why}</a>` },
  ];
  return html`<${Table} caption=${caption} columns=${columns} rows=${requests} keyOf=${keyOf} empty=${empty} />`;
}

const keys = new WeakMap();
let lastKey = 0;
function keyOf(request) {
  if (request.id) return request.id;
  if (!keys.has(request)) keys.set(request, ++lastKey);
  return keys.get(request);
}
