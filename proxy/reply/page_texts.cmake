# Turns page_texts.txt into a .cc that defines page_texts(); run as a build step. Fails, and names the line, where a text
# lacks a language. -DINPUT=, -DOUTPUT=. SPDX-License-Identifier: Apache-2.0
set(languages en de fr es it nl pl pt)
list(LENGTH languages last)
file(STRINGS ${INPUT} lines ENCODING UTF-8)
set(rows "")
set(names "")
set(wanted ${last})  # index of the language that must come next; after the last one a name must
set(number 0)
foreach(line IN LISTS lines)
  math(EXPR number "${number} + 1")
  if(line MATCHES "^#" OR line STREQUAL "")
    if(NOT wanted EQUAL last)
      list(GET languages ${wanted} missing)
      message(FATAL_ERROR "${INPUT}: ${name}: no text in ${missing} (line ${number})")
    endif()
    continue()
  endif()
  if(wanted EQUAL last)
    if(NOT line MATCHES "^[a-z][a-z0-9_]+$")
      message(FATAL_ERROR "${INPUT}: line ${number}: expected the name of a text: ${line}")
    endif()
    set(name ${line})
    list(APPEND names ${name})
    string(APPEND rows "    {PageText::${name},\n     \"${name}\",\n     {")
    set(wanted 0)
    continue()
  endif()
  list(GET languages ${wanted} language)
  if(NOT line MATCHES "^${language} [^ ]")
    message(FATAL_ERROR "${INPUT}: ${name}: expected the text in ${language} (line ${number}): ${line}")
  endif()
  string(SUBSTRING "${line}" 3 -1 text)
  string(APPEND rows "R\"text(${text})text\",\n      ")
  math(EXPR wanted "${wanted} + 1")
  if(wanted EQUAL last)
    string(APPEND rows "}},\n")
  endif()
endforeach()
if(NOT wanted EQUAL last)
  message(FATAL_ERROR "${INPUT}: ${name}: its last languages are missing")
endif()
list(LENGTH names count)
list(GET names -1 newest)
file(WRITE ${OUTPUT} "// Made by proxy/reply/page_texts.cmake; not to be edited.\n#include \"proxy/reply/page_texts.h\"\n\n"
     "namespace bloomwall::proxy {\nnamespace {\n\n"
     "constexpr std::array<PageTextEntry, ${count}> kPageTexts{{\n${rows}}};\n\n"
     "constexpr bool texts_stand_in_order() {\n  for (std::size_t i = 0; i < kPageTexts.size(); ++i) {\n"
     "    if (static_cast<std::size_t>(kPageTexts[i].text) != i) return false;\n  }\n  return kPageTexts.size() == static_cast<std::size_t>(kLastPageText) + 1;\n}\n"
     "static_assert(texts_stand_in_order(), \"page_texts.txt and PageText name texts in different orders\");\n\n"
     "}  // namespace\n\nstd::span<const PageTextEntry> page_texts() { return kPageTexts; }\n\n"
     "}  // namespace bloomwall::proxy\n")
