// A chart of figures over time, with the same figures as a table below it for whoever does not see it.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from "../vendor/hooks.mjs";
import uPlot from "../vendor/uplot.mjs";
import { clockTime, fullTime, rate } from "./format.js";
import { html } from "./html.js";
import { Table } from "./parts.js";
import { texts } from "./texts.js";
import { useMedia } from "./use.js";

const height = 220;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function optionsOf(width, series, span) {
  const grid = { stroke: colour("--line"), width: 1 };
  const axis = { stroke: colour("--quiet"), grid, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const form = span > 86_400 * 2 ? "day" : span < 600 ? "second" : "minute";
  return {
    width,
    height,
    cursor: { show: false },
    legend: { show: false },
    scales: { y: { range: (_, least, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [
      { ...axis, space: 70, size: 30, values: (_, ticks) => ticks.map((tick) => clockTime(tick, form)) },
      { ...axis, size: 44, values: (_, ticks) => ticks.map(rate) },
    ],
    series: [
      {},
      ...series.map(({ tone }) => ({ stroke: colour(`--${tone}`), fill: colour(`--${tone}-soft`), width: 2, points: { show: false } })),
    ],
  };
}

// `times`: seconds since 1970, ascending; `series`: [{title, tone, values}], values as many as times.
export function Chart({ title, summary, times, series }) {
  const place = useRef(null);
  const isDark = useMedia("(prefers-color-scheme: dark)");
  useEffect(() => {
    const span = times.length > 1 ? times.at(-1) - times[0] : 0;
    const plot = new uPlot(optionsOf(place.current.clientWidth, series, span), [times, ...series.map((each) => each.values)], place.current);
    const watch = new ResizeObserver(() => place.current && plot.setSize({ width: place.current.clientWidth, height }));
    watch.observe(place.current);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [times, isDark]);
  const columns = [
    { title: texts.columns.time, kind: "time", cell: (i) => fullTime(times[i] * 1000) },
    ...series.map((each) => ({ title: each.title, kind: "number", cell: (i) => rate(each.values[i]) })),
  ];
  return html`
    <figure class="chart">
      <div role="img" aria-label=${`${title}. ${summary}`} ref=${place}></div>
      <figcaption>${series.map((each) => html`<span key=${each.title} class=${`key ${each.tone}`}>${each.title}</span>`)}</figcaption>
    </figure>
    <details class="figures">
      <summary>${texts.figures.asTable}</summary>
      <div class="scroll" tabindex="0" role="region" aria-label=${title}>
        <${Table} caption=${title} columns=${columns} rows=${times.map((_, i) => i).reverse()} keyOf=${(i) => times[i]} />
      </div>
    </details>`;
}
