// Figures, times and texts from the network as a person reads them. Pure functions.
// SPDX-License-Identifier: Apache-2.0
import { texts } from "./texts.js";

const locale = "en";
const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 3 });
const rough = new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 });
const moment = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit",
  hourCycle: "h23", timeZoneName: "short" });
const clock = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const clockWithSeconds = new Intl.DateTimeFormat(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export const count = (value) => (isNumber(value) ? whole.format(value) : texts.unknown);
export const shortCount = (value) => (isNumber(value) ? (value < 10_000 ? whole : short).format(value) : texts.unknown);

// A rate a second: 0.42, 7.3, 120.
export function rate(value) {
  if (!isNumber(value)) return texts.unknown;
  return value >= 100 ? whole.format(value) : value.toFixed(value >= 10 || value === 0 ? 0 : 1);
}

export const share = (part, all) => (isNumber(part) && all > 0 ? (100 * part) / all : 0);
export const percent = (value) => (value > 0 && value < 0.1 ? "< 0.1 %" : `${value.toFixed(value < 10 && value > 0 ? 1 : 0)} %`);

// 9.2e-7 as "1 in 1,100,000".
export function oneIn(value) {
  if (!isNumber(value) || value <= 0) return texts.none;
  return value < 1e-12 ? texts.rarerThan("10¹²") : texts.oneIn(rough.format(1 / value));
}

export function bytes(value) {
  if (!isNumber(value)) return texts.unknown;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function milliseconds(value) {
  if (!isNumber(value)) return texts.unknown;
  if (value >= 10_000) return `${(value / 1000).toFixed(0)} s`;
  if (value >= 1000) return `${(value / 1000).toFixed(1)} s`;
  return `${value.toFixed(value < 10 ? 1 : 0)} ms`;
}

// "3 min" for 200 seconds.
export function duration(seconds) {
  const steps = [[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const [size, unit] = steps.find(([size]) => seconds >= size) ?? steps.at(-1);
  return `${Math.floor(Math.max(0, seconds) / size)} ${unit}`;
}

const secondsUntil = (time, now) => (Date.parse(time) - now) / 1000;
export const fullTime = (time) => moment.format(new Date(time));
// `form`: day, minute or second, whichever tells ticks apart.
export const clockTime = (seconds, form = "minute") =>
  ({ day, minute: clock, second: clockWithSeconds })[form].format(new Date(seconds * 1000));
// Of this browser, in which all times here are.
export const timeZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
export const timeOfDay = (time) => clockWithSeconds.format(new Date(time));

// "3 min ago", "in 2 h".
export function relative(time, now = Date.now()) {
  const seconds = secondsUntil(time, now);
  if (Math.abs(seconds) < 5) return texts.now;
  return seconds < 0 ? texts.ago(duration(-seconds)) : texts.in(duration(seconds));
}

// Characters that are not seen, or turn the direction of what stands around them, by their numbers.
const hidden = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const longest = 2000;
export function shown(text) {
  const whole = String(text ?? "");
  const cut = whole.length > longest ? whole.slice(0, longest) + "…" : whole;
  return cut.replace(hidden, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
}

// The time that many seconds from now, as the API wants it.
export const timeIn = (seconds, now = Date.now()) => new Date(now + seconds * 1000).toISOString().replace(/\.\d+Z$/, "Z");
