// Templates: html`<p>${text}</p>`. What is put in is text or an attribute's value, never markup: nothing need be escaped.
// SPDX-License-Identifier: Apache-2.0
import { h } from "../vendor/preact.mjs";
import htm from "../vendor/htm.mjs";

export const html = htm.bind(h);
