"use strict";
(function() {
  // Tables whose columns sort when their head is clicked: numbers as numbers.
  function sortable(root) {
    root.querySelectorAll("table.sort").forEach(function(table) {
      table.querySelectorAll("th").forEach(function(head, column) {
        var up = false;
        head.addEventListener("click", function() {
          var body = table.tBodies[0], rows = Array.from(body.rows);
          function text(row) { return row.cells[column].textContent }
          function order(a, b) {
            var x = parseFloat(text(a).replace(/,/g, "")), y = parseFloat(text(b).replace(/,/g, ""));
            return isNaN(x) || isNaN(y) ? text(a).localeCompare(text(b)) : x - y;
          }
          up = !up;
          rows.sort(function(a, b) { return up ? order(a, b) : order(b, a) });
          rows.forEach(function(row) { body.appendChild(row) });
        });
      });
    });
  }
  sortable(document);

  // A served page asks once a second which sections changed, and fetches those.
  var live = document.getElementById("live");
  if (!live) return;
  var has = JSON.parse(live.getAttribute("data-has"));
  function get(path) {
    return fetch(path, { cache: "no-store" }).then(function(answer) {
      if (!answer.ok) throw answer.status;
      return answer;
    });
  }
  // What is open and how far it is scrolled stays.
  function put(id, html) {
    var section = document.getElementById(id);
    if (!section) return;
    function all(selector) { return Array.from(section.querySelectorAll(selector)) }
    var open = all("details").map(function(d) { return d.open });
    var at = all(".scroll").map(function(s) { return [s.scrollLeft, s.scrollTop] });
    section.innerHTML = html;
    all("details").forEach(function(d, i) { if (i < open.length) d.open = open[i] });
    all(".scroll").forEach(function(s, i) {
      if (i < at.length) { s.scrollLeft = at[i][0]; s.scrollTop = at[i][1] }
    });
    sortable(section);
  }
  function turn() {
    get("state").then(function(answer) { return answer.json() }).then(function(state) {
      var changed = Object.keys(state.sections).filter(function(id) {
        return has[id] !== state.sections[id];
      });
      return Promise.all(changed.map(function(id) {
        return get("section/" + id).then(function(answer) { return answer.text() })
          .then(function(html) { put(id, html); has[id] = state.sections[id] });
      })).then(function() { live.textContent = state.text; document.title = state.title });
    }).catch(function() {
      live.textContent = "The server has ended; this is the last it said.";
    }).then(function() { setTimeout(turn, 1000) });
  }
  turn();
})();
