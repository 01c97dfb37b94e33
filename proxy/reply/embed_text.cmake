# Turns a text file into a .cc that defines FUNCTION as a string_view of its contents; run as a build step.
# -DINPUT=, -DOUTPUT=, -DFUNCTION=, -DHEADER=. SPDX-License-Identifier: Apache-2.0
file(READ ${INPUT} text)
string(LENGTH "${text}" length)
set(pieces "")
# Raw literals need no escaping, but each may have 16 KiB. Joined they are longer than the 64 KiB that every compiler must take;
# g++ and clang take more.
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND pieces "    R\"bloomwall(${piece})bloomwall\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE ${OUTPUT} "// Made by proxy/reply/embed_text.cmake; not to be edited.\n#include \"${HEADER}\"\n\n"
     "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n\n"
     "namespace bloomwall::proxy {\nstd::string_view ${FUNCTION}() {\n  return\n${pieces}      ;\n}\n}  // namespace bloomwall::proxy\n")
