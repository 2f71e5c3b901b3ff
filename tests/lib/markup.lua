-- markup.lua - reads the HTML we write as a strict parser would: what it does not
-- expect is an error, so that a text that slips out of its place is noticed.
local markup = {}

local void = { meta = true, link = true, br = true }

-- Tags in order: { name =, attributes =, close = } ..; raises when they do not nest,
-- when an attribute is odd, or when a bare < or & stands in the text.
function markup.read(html)
  local tags, open, at = {}, {}, 1
  html = html:gsub("^<!DOCTYPE html>\n", "")
  while true do
    local from = html:find("<", at, true)
    local text = html:sub(at, (from or #html + 1) - 1)
    local inside = open[#open]
    if inside ~= "script" and inside ~= "style" then
      for entity in text:gmatch "&[^;]?[^;]?[^;]?[^;]?[^;]?;?" do
        assert(entity:find "^&amp;" or entity:find "^&lt;" or entity:find "^&gt;"
               or entity:find "^&quot;" or entity:find "^&#39;", "bare & at: " .. entity)
      end
      assert(not text:find(">", 1, true), "bare > in: " .. text:sub(1, 80))
    end
    if not from then break end
    local slash, name, rest, stop = html:match("^<(/?)(%w+)([^<>]*)>()", from)
    if inside == "script" or inside == "style" then
      from = assert(html:find("</" .. inside .. ">", at, true))
      slash, name, rest, stop = "/", inside, "", from + #inside + 3
    end
    assert(name, "not a tag: " .. html:sub(from, from + 60))
    if slash == "/" then
      assert(table.remove(open) == name, ("</%s> does not nest"):format(name))
    else
      local attributes, left = {}, rest
      left = left:gsub('%s+([%w:-]+)="([^"<>]*)"', function(key, value)
        attributes[key] = value
        return ""
      end):gsub("%s+open", "")
      assert(left == "" or left == "/", ("<%s has odd attributes: %s"):format(name, left))
      tags[#tags + 1] = { name = name, attributes = attributes }
      if not (void[name] or left == "/") then open[#open + 1] = name end
    end
    at = stop
  end
  assert(#open == 0, "left open: " .. table.concat(open, " "))
  return tags
end

local known = {}
for name in ([[html head meta title link style body header h1 h2 h3 p nav a main section div span
  footer script table caption thead tbody tr th td figure figcaption details summary pre b i svg
  path circle rect text g ul li]]):gmatch "%S+" do
  known[name] = true
end

-- Nothing that could run, load or send: one script, no handlers, links to places
-- within the page alone.
function markup.harmless(html)
  local scripts, count = 0, {}
  for _, tag in ipairs(markup.read(html)) do
    assert(known[tag.name], "an element <" .. tag.name .. ">")
    count[tag.name] = (count[tag.name] or 0) + 1
    if tag.name == "script" then scripts = scripts + 1 end
    for key, value in pairs(tag.attributes) do
      assert(not key:find "^on", "an attribute " .. key)
      assert(key ~= "src" and key ~= "action" and key ~= "srcset", "an attribute " .. key)
      if key == "href" then
        assert(value:find "^#[%w_]+$" or value == "data:,", "a link to " .. value)
      end
      if key == "style" then assert(not value:find("url", 1, true), value) end
    end
  end
  assert(scripts <= 1, scripts .. " scripts")
  return count
end

return markup
