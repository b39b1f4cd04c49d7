-- SPDX-License-Identifier: Apache-2.0
-- Many pages by one pandoc, whose start takes longer than a page: PAGES names a file of lines "SOURCE TAB TARGET TAB DIALECT".
function Pandoc(nothing)
  for line in io.lines(os.getenv("PAGES")) do
    local source, target, dialect = line:match("^(.*)\t(.*)\t(.*)$")
    local input, output = assert(io.open(source)), assert(io.open(target, "w"))
    output:write(pandoc.write(pandoc.read(input:read("a"), dialect), "html5", PANDOC_WRITER_OPTIONS))
    input:close()
    output:close()
  end
  return nothing
end
