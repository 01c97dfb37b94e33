// What the proxy does now: figures, the traffic of an hour or a day, and what it has just blocked.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useMemo, useState } from "../vendor/hooks.mjs";
import { AllowDialog, isCured, noteCure } from "../app/allow.js";
import { get } from "../app/api.js";
import { Chart } from "../app/chart.js";
import { bytes, count, milliseconds, percent, rate, relative, share, shortCount, timeIn } from "../app/format.js";
import { html } from "../app/html.js";
import { Card, Choice, Empty, Loaded } from "../app/parts.js";
import { RequestTable } from "../app/request_table.js";
import { texts } from "../app/texts.js";
import { TopTable } from "../app/top_table.js";
import { addressOf, useData, useHold } from "../app/use.js";
import { hasRole } from "../app/roles.js";

const figuresPeriod = 2000, historyPeriod = 30_000, blockedPeriod = 5000; // milliseconds
const justSpan = 15 * 60; // seconds
const justRows = 25;
const fewestSteps = 3; // of a chart; two are a line from one guess to another

export function Now({ session, notify }) {
  const status = useData((signal) => get("/status", {}, signal), []);
  const mayAsk = hasRole(session, "operator") && status.data?.query_log?.record !== "off";
  const isKnown = status.data !== null || status.error !== null;
  const [subject, setSubject] = useState(null);
  const [turn, setTurn] = useState(0);
  const done = (notice, made) => {
    noteCure(made);
    setSubject(null);
    notify(notice);
    setTurn(turn + 1);
  };
  return html`
    <${Figures} />
    <${Traffic} />
    ${isKnown && mayAsk && html`<${JustBlocked} allow=${setSubject} turn=${turn} />`}
    ${isKnown && !mayAsk && html`<${BlockedHosts} session=${session} allow=${setSubject} />`}
    ${subject && html`<${AllowDialog} subject=${subject} session=${session} onClose=${() => setSubject(null)} onDone=${done} />`}`;
}

const Figure = ({ title, value, more }) => html`<div class="figure"><dt>${title}</dt><dd>${value}${more && html`<small>${more}</small>`}</dd></div>`;

function Figures() {
  const counters = useData((signal) => get("/counters", {}, signal), [], figuresPeriod);
  return html`<${Loaded} from=${counters}>${(data) => {
    const { now } = data;
    const size = bytes(data.bytes_sent + data.bytes_received);
    const perSecond = (value) => (now.seconds > 0 ? value / now.seconds : 0);
    return html`
      <dl class="figures-row">
        <${Figure} title=${texts.figures.requests} value=${rate(perSecond(now.requests))} />
        <${Figure} title=${texts.figures.blocked} value=${percent(share(now.blocked, now.requests))} />
        <${Figure} title=${texts.figures.median} value=${milliseconds(now.p50_ms)} />
        <${Figure} title=${texts.figures.slowest} value=${milliseconds(now.p99_ms)} />
        <${Figure} title=${texts.figures.tunnels} value=${shortCount(data.tunnels)} />
        <${Figure} title=${texts.figures.underWay} value=${shortCount(data.in_flight)} />
        <${Figure} title=${texts.figures.errors} value=${rate(60 * perSecond(now.errors))} />
      </dl>
      <p class="quiet">${texts.figures.total(count(data.requests), count(data.blocked), size, relative(data.started))}</p>`;
  }}</${Loaded}>`;
}

function Traffic() {
  const [span, setSpan] = useState("1h");
  const history = useData((signal) => get("/history", { span }, signal), [span], historyPeriod);
  const aside = html`<${Choice} label=${texts.top.span} value=${span} options=${Object.entries(texts.spans)} onChange=${setSpan} />`;
  return html`
    <${Card} title=${texts.figures.traffic} id="traffic" aside=${aside}>
      <${Loaded} from=${history}>${(data) => data.items.length < fewestSteps ? html`<${Empty}>${texts.figures.collecting}</${Empty}>`
        : html`<${TrafficChart} items=${data.items} />`}</${Loaded}>
    </${Card}>`;
}

function TrafficChart({ items }) {
  const [times, series, summary] = useMemo(() => {
    const per = (name) => items.map((step) => (step.seconds > 0 ? step[name] / step.seconds : 0));
    const all = (name) => items.reduce((sum, step) => sum + step[name], 0);
    return [
      items.map((step) => Date.parse(step.at) / 1000),
      [
        { title: texts.columns.requests, tone: "accent", values: per("requests") },
        { title: texts.columns.blocked, tone: "bad", values: per("blocked") },
      ],
      texts.figures.trafficSummary(count(all("requests")), count(all("blocked"))),
    ];
  }, [items]);
  return html`<${Chart} title=${texts.figures.perSecond} summary=${summary} times=${times} series=${series} />`;
}

function JustBlocked({ allow, turn }) {
  const [held, handlers] = useHold();
  const question = () => ({ decision: "blocked", since: timeIn(-justSpan) });
  const blocked = useData((signal) => get("/requests", question(), signal), [], blockedPeriod, held);
  useEffect(() => {
    if (turn > 0) blocked.reload(); // the rows stay meanwhile, and the focus on them
  }, [turn]);
  const aside = html`<a href=${addressOf("search", { decision: "blocked" })}>${texts.just.seeAll}</a>`;
  return html`
    <${Card} title=${texts.just.title} id="just-blocked" aside=${aside}>
      <${Loaded} from=${blocked}>${(data) => html`
        <p class="quiet">${texts.just.hint}</p>
        <div ...${handlers}>
          <${RequestTable} caption=${texts.just.title} requests=${eachOnce(data.items).slice(0, justRows)} empty=${texts.just.empty}
            allow=${allow} isCured=${isCured} isBlocked />
        </div>`}</${Loaded}>
    </${Card}>`;
}

// A page that is asked for again and again is one row, the newest.
function eachOnce(requests) {
  const seen = new Set();
  return requests.filter((request) => {
    const key = JSON.stringify([request.url ?? request.host, request.client, request.user, request.filter]);
    return !seen.has(key) && seen.add(key);
  });
}

// For whoever may not see requests, and where none are recorded.
function BlockedHosts({ session, allow }) {
  const tops = useData((signal) => get("/tops", { span: "1h", limit: 20 }, signal), [], historyPeriod);
  return html`
    <${Card} title=${texts.just.title} id="just-blocked">
      <${Loaded} from=${tops}>${(data) => html`
        <p class="quiet">${texts.just.ofHour}</p>
        <${TopTable} title=${texts.top.hosts} rows=${data.hosts} allow=${hasRole(session, "reviewer") && allow} />`}</${Loaded}>
    </${Card}>`;
}
