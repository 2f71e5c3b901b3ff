-- report/page.lua - sections put together into one HTML file that needs nothing
-- else: no font, no script, no picture from anywhere. It can be read without
-- JavaScript; the little there is sorts tables and, when the page is served,
-- fetches the sections that changed.
local chart = require "kernelband.report.chart"
local version = require "kernelband.base.version"

local page = {}

local css = [[
*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
main,header,footer{max-width:1200px;margin:0 auto;padding:0 20px}
header{padding-top:24px}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:34px 0 10px;padding-top:10px;border-top:1px solid var(--grid)}
h3{font-size:1rem;margin:18px 0 6px}p{margin:8px 0;max-width:75ch;overflow-wrap:anywhere}
header p{max-width:none}.q,.note,figcaption,caption{color:var(--soft)}
.note,figcaption,caption{font-size:.87rem}
nav{display:flex;flex-wrap:wrap;gap:2px 14px;margin:10px 0;font-size:.9rem}
a{color:var(--c1)}.tiles{display:grid;gap:12px;margin:14px 0;
grid-template-columns:repeat(auto-fit,minmax(190px,1fr))}
.tile{border:1px solid var(--grid);border-radius:8px;padding:10px 14px;font-size:.9rem}
.big{font-size:1.35rem;font-weight:650;line-height:1.3;overflow-wrap:anywhere}
.grid{display:grid;gap:14px 28px;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));
align-items:start}
.pair{display:grid;gap:14px;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr))}
.pair>div{min-width:0}.pair pre{white-space:pre-wrap;overflow-wrap:anywhere}
figure{margin:8px 0;min-width:0}figcaption{margin-top:4px;max-width:75ch}
figure svg{max-width:100%;height:auto;display:block}
svg.chart{width:100%;max-width:540px}
.tree svg,svg.wide{max-width:none}.tree{max-height:640px;overflow:auto}
figure>.scroll>svg[role=img]:not(.mini){min-width:300px}
section{min-width:0;grid-column:1/-1}
@media(min-width:1000px){main{display:grid;grid-template-columns:1fr 1fr;column-gap:28px}
#clusters,#roofline{grid-column:auto}}
.scroll{overflow-x:auto;max-width:100%}table{border-collapse:collapse;font-size:.87rem;margin:6px 0}
caption{text-align:left;padding:4px 0}
th{font-weight:600;border-bottom:1px solid var(--soft)}
th,td{padding:3px 12px 3px 0;vertical-align:top;white-space:nowrap;
font-variant-numeric:tabular-nums}
td{border-bottom:1px solid var(--grid)}.l{text-align:left}.r{text-align:right}.h{font-weight:600}
td.wrap{white-space:normal;min-width:16em;max-width:60em;overflow-wrap:anywhere}
.sort th{cursor:pointer}.mini{vertical-align:middle}
.dot{display:inline-block;width:10px;height:10px;border-radius:2px;background:var(--c);
margin:0 6px 0 0}
pre,.src{font:12.5px/1.45 ui-monospace,monospace}
pre{background:color-mix(in srgb,var(--grid) 45%,transparent);padding:8px 10px;border-radius:6px;
overflow-x:auto;max-width:100%;white-space:pre-wrap;overflow-wrap:anywhere}
.code{max-height:560px;overflow:auto;border:1px solid var(--grid);border-radius:6px}
.src{width:100%;margin:0}.src td{white-space:pre;border:0;padding:0 10px 0 4px;tab-size:4}
.src .n{color:var(--soft);text-align:right;user-select:none;width:1%}
.src b{font-weight:600;color:var(--c1)}.src i{color:var(--soft);font-style:normal}
.plus{background:color-mix(in srgb,var(--ok) 16%,transparent)}
.minus{background:color-mix(in srgb,var(--wrong) 15%,transparent)}.gap{color:var(--soft)}
summary{cursor:pointer;padding:3px 0}details{margin:4px 0}.origin{font-size:.87rem}
.origin>summary{color:var(--soft)}footer{margin:40px auto 30px;font-size:.87rem;color:var(--soft)}
.live{font-size:.87rem;color:var(--soft)}
@media(max-width:600px){td.l{white-space:normal;min-width:5em}}
@media print{.code,.tree{max-height:none}nav,.live{display:none}}
]]

-- Its SHA-256 stands in the policy below, which lets no other script run.
page.script = [[(function(){"use strict";
function sortable(root){root.querySelectorAll("table.sort").forEach(function(t){
t.querySelectorAll("th").forEach(function(th,i){var up=false;th.addEventListener("click",function(){
var b=t.tBodies[0],r=Array.prototype.slice.call(b.rows);up=!up;r.sort(function(x,y){
var a=x.cells[i].textContent,c=y.cells[i].textContent,m=parseFloat(a.replace(/,/g,"")),
n=parseFloat(c.replace(/,/g,"")),d=isNaN(m)||isNaN(n)?a.localeCompare(c):m-n;return up?d:-d});
r.forEach(function(x){b.appendChild(x)})})})})}
sortable(document);var said=document.getElementById("live");if(!said)return;
var has=JSON.parse(said.getAttribute("data-has")),stop=false;
function get(p){return fetch(p,{cache:"no-store"}).then(function(r){
if(!r.ok)throw r.status;return r})}
function put(id,html){var s=document.getElementById(id);if(!s)return;var open=[],i=0;
s.querySelectorAll("details").forEach(function(d){open.push(d.open)});var y=[];
s.querySelectorAll(".scroll").forEach(function(d){y.push([d.scrollLeft,d.scrollTop])});
s.innerHTML=html;s.querySelectorAll("details").forEach(function(d){
if(i<open.length)d.open=open[i++]});
i=0;s.querySelectorAll(".scroll").forEach(function(d){if(i<y.length){d.scrollLeft=y[i][0];
d.scrollTop=y[i++][1]}});sortable(s)}
function turn(){get("state").then(function(r){return r.json()}).then(function(s){
var want=Object.keys(s.sections).filter(function(k){return has[k]!==s.sections[k]});
return Promise.all(want.map(function(k){return get("section/"+k).then(function(r){return r.text()})
.then(function(h){put(k,h);has[k]=s.sections[k]})})).then(function(){said.textContent=s.text;
document.title=s.title})}).catch(function(){said.textContent=
"The server has ended; this is the last it said."}).then(function(){
if(!stop)setTimeout(turn,1000)})}turn()})();]]

page.script_hash = "OdAhlwNpNujJodMkXqEK2VSGCFdxQNt3p7hkRK+4ZuU="

-- What the page may do: nothing but its own style and that one script; a served
-- page may also ask its own server.
function page.policy(live)
  return ("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'; "
    .. "img-src data:; base-uri 'none'; form-action 'none'%s"):format(page.script_hash,
    live and "; connect-src 'self'" or "")
end

-- Who made a file, for its foot.
function page.foot()
  return "Made by kernelband " .. version
         .. ". This file needs no network and no JavaScript."
end

-- o: title, lead (HTML below it), sections = { { id =, title =, html = } .. }, live =
-- { text =, has = JSON } for a served page, foot = text.
function page.html(o)
  local escape = chart.escape
  local out = { '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
    ('<meta http-equiv="Content-Security-Policy" content="%s">'):format(page.policy(o.live)),
    '<meta name="viewport" content="width=device-width,initial-scale=1">',
    '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">',
    "<title>", escape(o.title), '</title><link rel="icon" href="data:,">',
    "<style>", chart.css, css, "</style></head>\n<body><header><h1>", escape(o.title), "</h1>",
    o.lead or "" }
  local function add(text) out[#out + 1] = text end
  if o.live then
    add(('<p class="live" id="live" role="status" data-has="%s">%s</p>'):format(
      escape(o.live.has), escape(o.live.text)))
  end
  add "<nav>"
  for _, s in ipairs(o.sections) do
    add(('<a href="#%s">%s</a>'):format(s.id, escape(s.title)))
  end
  add "</nav></header>\n<main>"
  for _, s in ipairs(o.sections) do
    add(('<section id="%s">%s</section>\n'):format(s.id, page.inside(s)))
  end
  add(("</main><footer>%s</footer>\n<script>%s</script></body></html>\n"):format(
      escape(o.foot or ""), page.script))
  return table.concat(out)
end

-- What is in a section's element.
function page.inside(s)
  return ("<h2>%s</h2>%s"):format(chart.escape(s.title), s.html)
end

return page
