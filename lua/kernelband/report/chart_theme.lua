-- report/chart_theme.lua - the colours of charts and pages, light and dark, as CSS. Every
-- text colour has a contrast of at least 4.5 to 1 on its background.
local theme = {}

theme.verdicts = { "ok", "no_candidate", "not_applicable", "build_failed", "launch_failed",
                   "wrong", "cheated", "crashed", "timeout" }

local light = { fg = "#1c2024", soft = "#5a626b", grid = "#e3e6ea", bg = "#ffffff",
  "#0b64c0", "#c2410c", "#23783a", "#8b2fa8", "#b4235a", "#0b7285", "#7a5d00", "#5c5f66",
  ok = "#23783a", no_candidate = "#868e96", not_applicable = "#5b6bb5", build_failed = "#b07a00",
  launch_failed = "#d9580d", wrong = "#d12020", cheated = "#8b2fa8",
  crashed = "#b4235a", timeout = "#0b64c0" }
local dark = { fg = "#e8eaed", soft = "#a3abb4", grid = "#343a41", bg = "#15181c",
  "#62adf9", "#ff9457", "#66cf7b", "#d48bec", "#ff8fb1", "#4cc9dc", "#dfbd45", "#a6a7ab",
  ok = "#66cf7b", no_candidate = "#8b939c", not_applicable = "#9fb0ff", build_failed = "#e3b341",
  launch_failed = "#ff9457", wrong = "#ff6b6b", cheated = "#d48bec",
  crashed = "#ff8fb1", timeout = "#62adf9" }

local function variables(colours)
  local out = {}
  for _, name in ipairs { "fg", "soft", "grid", "bg" } do
    out[#out + 1] = ("--%s:%s"):format(name, colours[name])
  end
  for i, colour in ipairs(colours) do out[#out + 1] = ("--c%d:%s"):format(i, colour) end
  for _, v in ipairs(theme.verdicts) do
    out[#out + 1] = ("--%s:%s"):format(v, colours[v])
  end
  return table.concat(out, ";")
end

local function style()
  local out = {
    (":root{color-scheme:light dark;%s}"):format(variables(light)),
    ("@media(prefers-color-scheme:dark){:root{%s}}"):format(variables(dark)),
    "svg text{font:12px system-ui,sans-serif;fill:var(--fg)}svg .q{fill:var(--soft)}",
    "svg .h{font-weight:600}svg .o{paint-order:stroke;stroke:var(--bg);stroke-width:4px}",
    ".ax{stroke:var(--soft);fill:none}.gr{stroke:var(--grid);fill:none}",
    ".ln{fill:none;stroke:var(--c);stroke-width:1.8;stroke-linejoin:round}",
    ".da{stroke-dasharray:5 4}.bd{fill:var(--c);fill-opacity:.18}",
    ".pt{fill:var(--c);fill-opacity:.7}.ar{fill:var(--c)}.ru{stroke:var(--soft);",
    "stroke-dasharray:2 3;fill:none}.ce{stroke:var(--bg);stroke-width:2}",
  }
  out[#out + 1] = ".sf{--c:var(--fg)}"
  for i = 1, 8 do out[#out + 1] = (".s%d{--c:var(--c%d)}"):format(i, i) end
  for _, v in ipairs(theme.verdicts) do
    out[#out + 1] = (".v-%s{--c:var(--%s)}"):format(v, v)
  end
  return table.concat(out)
end
theme.css = style()

return theme
