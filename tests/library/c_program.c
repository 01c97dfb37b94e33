// What `bloomwall-filter query FILTER` does with URLs from stdin, in C: for each line "listed<TAB>URL<TAB>expression",
// "clear<TAB>URL" or "invalid<TAB>URL<TAB>reason". With a second argument it asks all of stdin by one bulk call and
// prints one digit a line, the verdict.
// SPDX-License-Identifier: Apache-2.0
#include <bloomwall.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(void) {
  fprintf(stderr, "%d: %s\n", bw_error_code(), bw_error_text());
  return 2;
}

static int ask_each(const bw_policy* policy, const char* text, size_t length) {
  bw_answer* const answer = bw_answer_new();
  int outcome = 0;
  while (length > 0 && outcome == 0) {
    const char* const end = memchr(text, '\n', length);
    const size_t line = end != NULL ? (size_t)(end - text) : length;
    const int verdict = bw_ask(policy, BW_URL, text, line, answer);
    if (verdict < 0) outcome = fail();
    if (verdict == BW_REJECTED) {
      printf("invalid\t%.*s\t%s\n", (int)line, text, bw_answer_reason(answer));
    } else if (verdict == BW_BLOCKED) {
      printf("listed\t%.*s\t%s\n", (int)line, text, bw_answer_expression(answer, NULL));
    } else if (verdict >= 0) {
      printf("clear\t%.*s\n", (int)line, text);
    }
    length -= end != NULL ? line + 1 : line;
    text += end != NULL ? line + 1 : line;
  }
  bw_answer_free(answer);
  return outcome;
}

static int ask_all(const bw_policy* policy, const char* text, size_t length) {
  size_t lines = 0, i;
  unsigned char* verdicts;
  bw_ask_lines(policy, BW_URL, text, length, NULL, 0, &lines);
  verdicts = malloc(lines + 1);
  if (verdicts == NULL || bw_ask_lines(policy, BW_URL, text, length, verdicts, lines, &lines) != 0) {
    free(verdicts);
    return fail();
  }
  for (i = 0; i < lines; ++i) putchar('0' + verdicts[i]);
  putchar('\n');
  free(verdicts);
  return 0;
}

int main(int argc, char** argv) {
  static char text[1 << 20];
  const size_t length = fread(text, 1, sizeof text, stdin);
  bw_policy* const policy = bw_open(argc > 1 ? argv[1] : "");
  int outcome;
  if (policy == NULL) return fail();
  outcome = argc > 2 ? ask_all(policy, text, length) : ask_each(policy, text, length);
  bw_free(policy);
  return outcome;
}
