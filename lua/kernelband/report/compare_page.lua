-- report/compare_page.lua - kernelband compare as one self-contained page: the table, the
-- mean share after every pull, and what each space gave.
local chart   = require "kernelband.report.chart"
local compare = require "kernelband.bench.compare"
local html    = require "kernelband.report.html"
local lists   = require "kernelband.base.lists"

local compare_page = {}

local function html_table(list)
  return html.table(list[1], { table.unpack(list, 2) }, { left = #list[1] })
end

local function curves(t, rows)
  local c = chart.new { title = "Share of the optimum, geometric mean over spaces", width = 760,
                        height = 380, x = { label = "pulls", min = 0, integer = true },
                        y = { label = "share", min = 0, max = 1 } }
  local drawn = lists.collect(t.cells, function(cell)
    return cell.spaces == #t.spaces and cell.seeds > 0 and not cell.same and cell.name
  end)
  for i = 1, math.min(#drawn, 8) do     -- as many as there are colours
    c:line(compare.curve(t, rows, drawn[i]), { series = i, name = drawn[i] })
  end
  return html.figure(c:svg())
end

-- Of every cell the share at the last T and its interval, side by side: a drawing of its own.
function compare_page.svg(t)
  local T = t.at[#t.at]
  local c = chart.new { title = ("Share of the optimum after %d pulls, 95 %%"):format(T),
    width = 560, height = 300, x = { min = 0, max = #t.cells + 1, names = {} },
    y = { label = ("share of the optimum after %d pulls, 95 %%"):format(T) } }
  for i, cell in ipairs(t.cells) do
    local e = cell.at[T]
    if e then
      c:line({ { i, e.low or e.value }, { i, e.high or e.value } }, { series = i })
      c:points({ { i, e.value, text = cell.name } }, { series = i, name = cell.name })
    end
  end
  return c:svg { standalone = true }
end

-- t: compare.table(rows). Returns the page's text.
function compare_page.html(t, rows)
  return html.page { title = "kernelband compare", sections = {
    { id = "table", title = "Policies", html = html_table(compare.words(t)) },
    { id = "curves", title = "Over pulls", html = curves(t, rows) },
    { id = "spaces", title = "By space", html = html_table(compare.by_space(t)) },
  } }
end

return compare_page
