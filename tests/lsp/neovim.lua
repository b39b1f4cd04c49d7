-- SPDX-License-Identifier: Apache-2.0
-- A job and a sheet in a real editor: neovim.lua reads PROGRAM and FOLDER from the environment, writes TAP.
local program, folder = os.getenv('PROGRAM'), os.getenv('FOLDER')
local count, failed = 0, 0

local function check(ok, name, found)
  count = count + 1
  if not ok then failed = failed + 1 end
  io.write(ok and 'ok ' or 'not ok ', count, ' - ', name, '\n')
  if not ok then io.write('# found ', vim.inspect(found):gsub('\n', ' '), '\n') end
end

local function open(file)
  vim.cmd('edit ' .. vim.fn.fnameescape(folder .. '/' .. file))
  local client = vim.lsp.start_client({name = 'steptime', cmd = {program, 'lsp'}, root_dir = folder})
  vim.lsp.buf_attach_client(0, client)
  vim.wait(10000, function() return vim.lsp.buf.server_ready() end, 20)
  return client
end

local function messages()
  local texts = {}
  for _, one in ipairs(vim.diagnostic.get(0)) do
    table.insert(texts, one.lnum .. ':' .. one.col .. ' ' .. one.message)
  end
  return texts
end

local function ask(method, line, character, more)
  vim.api.nvim_win_set_cursor(0, {line, character})
  local parameters = vim.tbl_extend('force', vim.lsp.util.make_position_params(), more or {})
  for _, answer in pairs(vim.lsp.buf_request_sync(0, method, parameters, 10000) or {}) do
    return answer.result
  end
end

local client = open('configs/jobs/lab-job.yaml')
vim.api.nvim_buf_set_lines(0, 3, 4, false, {'parallel: {dq: 4}'})
vim.wait(10000, function() return #messages() > 0 end, 20)
check(#messages() == 1 and messages()[1]:find("^3:11 .*did you mean 'dp'"), 'a mistyped key is marked', messages())
vim.api.nvim_buf_set_lines(0, 3, 4, false, {'parallel: {dp: 4}'})
vim.wait(10000, function() return #messages() == 0 end, 20)
check(#messages() == 0, 'the mark goes with the mistake', messages())
local hover = ask('textDocument/hover', 4, 11)
check(hover and hover.contents.value:find('parallel.dp'), 'a key says what it means', hover)
local offered = ask('textDocument/completion', 4, 11)
check(offered and #offered.items > 10, 'keys are offered', offered)
vim.lsp.stop_client(client)

client = open('formulas/lab.yaml')
vim.wait(2000, function() return false end, 20, false)
local line = vim.fn.search('T_V\\*0')
local edits = ask('textDocument/rename', line, vim.fn.match(vim.fn.getline(line), 'T_V\\*0'), {newName = 'T_wire'})
if edits then vim.lsp.util.apply_workspace_edit(edits, 'utf-16') end
local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
check(text:find('\n  T_wire:') and text:find('%(n %- 1%)%*T_wire %+ T_wire%*0') and text:find('doc: time of V'),
  'a cell is renamed', text)
vim.lsp.stop_client(client)
io.write('1..', count, '\n')
vim.cmd(failed > 0 and 'cquit!' or 'qall!')
