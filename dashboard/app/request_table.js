// Requests as rows, with what can be done about a blocked one.
// SPDX-License-Identifier: Apache-2.0
import { entryOf } from "./allow.js";
import { fullTime, relative, shown, timeOfDay } from "./format.js";
import { html } from "./html.js";
import { Decision, Expression, Table, Text } from "./parts.js";
import { texts } from "./texts.js";
import { addressOf } from "./use.js";

const whoOf = (request) => [request.client, request.user].filter(Boolean).map(shown).join(", ") || texts.unknown;

// What an exception would be for (allow.js).
export const subjectOf = (request) => ({ entry: entryOf(request), filter: request.filter, group: request.group, url: request.url,
  client: isAddress(request.client) ? request.client : null, user: request.user, tunnel: request.tunnel });

// Of a client that the log keeps as a network or a pseudonym no exception can be made.
const isAddress = (client) => /^[0-9a-f.:]+$/i.test(client ?? "") && /[.:]/.test(client);

const checkOf = (request) => addressOf("check", { url: request.url ?? request.host, client: subjectOf(request).client, user: request.user });

const Reason = ({ request }) => html`
  <span class="text">${shown(request.filter ?? texts.reasons[request.reason] ?? request.reason)}</span>
  ${request.expression && html`<small class="own-line"><${Expression} value=${request.expression} /></small>`}`;

// `isLive`: times to the second; `isBlocked`: all of them were, which need not be said of each.
export function RequestTable({ caption, requests, empty, allow, isLive = false, isBlocked = false }) {
  const columns = [
    { title: texts.columns.time, kind: "time", cell: (request) => html`<time datetime=${request.at}
      title=${fullTime(request.at)}>${isLive ? timeOfDay(request.at) : relative(request.at)}</time>` },
    { title: texts.columns.url, kind: "wide", cell: (request) => html`<${Text} value=${request.url ?? request.host ?? texts.unknown} />` },
    ...(isBlocked ? [] : [{ title: texts.columns.decision, cell: (request) => html`<${Decision} decision=${request.decision} />` }]),
    { title: texts.columns.why, kind: "middle", cell: (request) => html`<${Reason} request=${request} />` },
    { title: texts.columns.client, kind: "middle", cell: (request) => html`<span class="text">${whoOf(request)}</span>` },
    { title: texts.columns.group, cell: (request) => html`<span class="text">${shown(request.group ?? texts.unknown)}</span>` },
    { title: texts.actions, kind: "actions", cell: (request) => request.decision === "blocked" && request.host && html`
      <button class="small" aria-label=${texts.allow.of(shown(entryOf(request)))}
        onClick=${() => allow(subjectOf(request))}>${texts.allow.ellipsis}</button>
      <a class="small" href=${checkOf(request)}>${texts.columns.why}</a>` },
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
