-- base/transfer.lua - what is told of an HTTP transfer that failed: which host, what happened, what
-- to do (transfer.in). libcurl's own words are used where they only tell of names and keys.
local template = require "kernelband.base.template"
local with = require("kernelband.base.lists").with

local transfer = {}

-- Of an answer of core.http: text, code, reason; nil when it did not fail.
function transfer.failure(answer)
  if answer.failure == "" then return nil end
  local known = template.piece("base/transfer." .. answer.failure) and answer.failure
  local told = template.fill("base/transfer." .. (known or "other"), with(answer, {
    seconds = ("%.1f"):format(answer.bound / 1e9),
    detail = answer.detail:gsub("[^\32-\126]", "?"),      -- which a terminal might obey
    ca = answer.ca or "(built in)", ca_from = answer.ca_from or "libcurl",
  }))
  local reason, code, text = told:match "^(%S+) (%S+)\n(.*)$"
  return answer.host .. ": " .. text:gsub("\n", " "), code, reason
end

return transfer
