// How long what somebody makes holds, as a choice in forms and as members of a question to the API.
// SPDX-License-Identifier: Apache-2.0
import { timeIn } from "./format.js";
import { texts } from "./texts.js";

const day = 86_400;
const seconds = { lesson: 45 * 60, hour: 3600, day, week: 7 * day, month: 30 * day, quarter: 90 * day, year: 365 * day };

export const lifetimeOptions = (names) => names.map((name) => [name, texts.lifetimes[name]]);

export function lifetimeOf(name) {
  if (name === "ever") return { until: null };
  if (name === "build") return { until_build: true };
  return { until: timeIn(seconds[name]) };
}
