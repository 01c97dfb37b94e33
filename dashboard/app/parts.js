// What views are made of. Nothing here asks the API.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useId, useRef, useState } from "../vendor/hooks.mjs";
import { fullTime, relative, shown } from "./format.js";
import { html } from "./html.js";
import { texts } from "./texts.js";
import { focusRow, placeAmongRows, useKeptFocus } from "./use.js";

// A text that came from the network: shown inert, its direction kept to itself. Lines of a URL end between its parts where they can.
// A long one is cut to three lines until it is opened: whoever sends it is not to push away what stands below.
export function Text({ value, of = "span" }) {
  const text = shown(value);
  if (text.length <= longText) return html`<${of} class="text" dir="auto">${partsOf(text)}</${of}>`;
  return html`<${Clamped} text=${text} of=${of} />`;
}
const longText = 180; // characters

function Clamped({ text, of }) {
  const [isOpen, setOpen] = useState(false);
  return html`<${of} class=${`text long ${isOpen ? "" : "clamped"}`} dir="auto">${isOpen ? partsOf(text) : text}</${of}>
    <button type="button" class="small unfold" aria-expanded=${isOpen ? "true" : "false"}
      onClick=${() => setOpen(!isOpen)}>${isOpen ? texts.less : texts.whole}</button>`;
}

const partsOf = (text) => text.split(/(?<=[^/:])(?=[/?&.].)/).flatMap((part, i) => (i === 0 ? [part] : [html`<wbr />`, part]));

// `time`: as the API gives it; null: `otherwise`.
export function Time({ time, otherwise = texts.never }) {
  if (!time) return otherwise;
  return html`<time datetime=${time} title=${fullTime(time)}>${relative(time)}</time>`;
}

export const Badge = ({ kind, children }) => html`<span class=${`badge ${kind}`}>${children}</span>`;

const decisionKinds = { allowed: "good", monitored: "warn", blocked: "bad", rejected: "bad", refused: "bad" };
export const Decision = ({ decision }) => html`<${Badge}
  kind=${decisionKinds[decision] ?? "plain"}>${texts.decisions[decision] ?? shown(decision)}</${Badge}>`;

// A message to the reader: kind is info, good, warn or bad.
export const Note = ({ kind = "info", children }) =>
  html`<div class=${`note ${kind}`} role=${kind === "bad" ? "alert" : "status"}>${children}</div>`;

// What was done, with what the proxy warns of.
export const noticeOf = (text, warnings, kind = "good") => ({ kind: warnings.length ? "warn" : kind, text: [text, ...warnings.map(shown)].join(" ") });

export function problemText(error) {
  if (!error) return "";
  if (error.isMissing) return texts.notAvailable;
  if (error.status === 0) return texts.noAnswer;
  if (error.status === 412) return texts.changedSince;
  if (error.status === undefined) return String(error);
  return shown([error.title, error.detail].filter(Boolean).join(": ") || texts.refusedWith(error.status));
}

// What is shown of a question to the API: what `children` makes of its data, or why there is none.
export function Loaded({ from, children }) {
  if (from.data !== null) {
    return html`
      ${from.error && html`<${Note} kind="warn">${texts.stale} ${problemText(from.error)}</${Note}>`}
      ${children(from.data)}`;
  }
  if (from.error?.isMissing) return html`<${Empty}>${texts.notAvailable}</${Empty}>`;
  if (from.error) return html`<${Note} kind="bad">${problemText(from.error)} <button class="small"
    onClick=${from.reload}>${texts.again}</button></${Note}>`;
  return html`<p class="quiet" role="status">${texts.loading}</p>`;
}

// A name on one line, cut where there is no room.
export const Name = ({ value }) => html`<span class="name" title=${shown(value)}>${shown(value)}</span>`;

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

export const Card = ({ title, aside, id, children }) => html`
  <section class="card" aria-labelledby=${id}>
    <div class="card-head"><h2 id=${id}>${title}</h2>${aside && html`<div class="aside">${aside}</div>`}</div>
    ${children}
  </section>`;

export const Panel = ({ children, ...more }) => html`<div class="card panel" ...${more}>${children}</div>`;

// What a filter has matched: "S example.com" without the letter of its kind, which only the log need say.
export const Expression = ({ value }) => html`<span class="text" title=${shown(value)}>${partsOf(shown(value).replace(/^[A-Z] /, ""))}</span>`;

// A table; on narrow screens each row is a block of "heading: cell". `columns`: [{title, cell(item), kind}], where kind is
// number, time, wide or actions; `rows`: items, `keyOf` what tells them apart.
export function Table({ caption, columns, rows, keyOf, empty = texts.nothing }) {
  const kept = useKeptFocus();
  return html`<div class="rows" ...${kept}>${rows.length === 0 ? html`<${Empty}>${empty}</${Empty}>` : html`
    <table role="table">
      <caption class="unseen">${caption}</caption>
      <thead role="rowgroup"><tr role="row">
        ${columns.map((column) => html`<th key=${column.title} scope="col" role="columnheader" class=${column.kind}>${
          column.kind === "actions" ? html`<span class="unseen">${column.title}</span>` : column.title}</th>`)}
      </tr></thead>
      <tbody role="rowgroup">
        ${rows.map((row) => html`<tr key=${keyOf(row)} role="row">
          ${columns.map((column) => html`<td key=${column.title} role="cell" class=${column.kind}
            data-title=${column.kind === "actions" ? "" : column.title}>
            <div>${column.cell(row)}</div></td>`)}
        </tr>`)}
      </tbody>
    </table>`}</div>`;
}

// Around rows that are no table: the focus stays among them.
export const Kept = ({ children }) => html`<div class="rows" ...${useKeptFocus()}>${children}</div>`;

// A labelled control: `children` is called with the id that it must have.
export function Field({ label, hint, children }) {
  const id = useId();
  return html`
    <div class="field">
      <label for=${id}>${label}</label>
      ${children(id)}
      ${hint && html`<p class="hint">${hint}</p>`}
    </div>`;
}

export const Input = ({ label, hint, value, onChange, ...more }) => html`
  <${Field} label=${label} hint=${hint}>
    ${(id) => html`<input id=${id} value=${value} onInput=${(event) => onChange(event.currentTarget.value)} ...${more} />`}
  </${Field}>`;

// `options`: [[value, text], ...].
export const Select = ({ label, hint, value, options, onChange, ...more }) => html`
  <${Field} label=${label} hint=${hint}>
    ${(id) => html`<select id=${id} onChange=${(event) => onChange(event.currentTarget.value)} ...${more}>
      ${options.map(([each, text]) => html`<option key=${each} value=${each} selected=${each === value}>${text}</option>`)}
    </select>`}
  </${Field}>`;

// A modal dialog with a form. The button that does what its title says has the focus when it opens, so that Enter is
// enough; but where the first field is empty and required, that has. submit() returns a promise; what it throws is
// shown, and the dialog stays open.
export function FormDialog({ title, verb, kind = "primary", submit, onClose, children }) {
  const dialog = useRef(null);
  const primary = useRef(null);
  const id = useId();
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    const element = dialog.current, before = document.activeElement, place = placeAmongRows(before);
    element.showModal();
    (element.querySelector(":invalid:is(input, select)") ?? primary.current).focus();
    return () => {
      element.close();
      setTimeout(() => { // once what the dialog has done is shown, which may have taken away what had opened it
        if (before?.isConnected && before !== document.body) before.focus();
        else focusRow(place);
      });
    };
  }, []);
  const send = async (event) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setError(null);
    try {
      await submit();
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return html`
    <dialog ref=${dialog} aria-labelledby=${id} onCancel=${(event) => { event.preventDefault(); onClose(); }}>
      <form onSubmit=${send}>
        <h2 id=${id}>${title}</h2>
        ${children}
        ${error && html`<${Note} kind="bad">${problemText(error)}</${Note}>`}
        <div class="buttons">
          <button type="button" onClick=${onClose}>${texts.cancel}</button>
          <button type="submit" class=${kind} ref=${primary} disabled=${isBusy}>${verb}</button>
        </div>
      </form>
    </dialog>`;
}

// A row of choices of which one holds: buttons that are pressed or not.
export const Choice = ({ label, value, options, onChange }) => html`
  <div class="choice" role="group" aria-label=${label}>
    ${options.map(([each, text]) => html`<button key=${each} type="button" aria-pressed=${each === value ? "true" : "false"}
      onClick=${() => onChange(each)}>${text}</button>`)}
  </div>`;
