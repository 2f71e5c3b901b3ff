-- core.store: statements, and values on their way into SQLite and out of it.
package.path = "tests/lib/?.lua;" .. package.path
local t = require "harness"
local core = require "kernelband.core"

local folder = t.folder()
local path = folder .. "/run.db"
local db = assert(core.store(path))
assert(db:exec [[CREATE TABLE t (n INTEGER PRIMARY KEY, i INTEGER, r REAL, s TEXT,
  b BLOB, k INTEGER REFERENCES t (n)) STRICT]])

local function count(where) return db:rows("SELECT count(*) AS n FROM t " .. (where or ""))[1].n end

t.test("every type comes back as it went", function()
  t.equal(db:exec("INSERT INTO t (n, i, r, s, b) VALUES (1, ?, ?, ?, ?)", math.mininteger, 0.1,
                  "a\0b", { blob = "a\0b" }), 1)
  local row = db:rows "SELECT i, r, s, b, k, typeof(b) AS kind FROM t"[1]
  t.equal(row, { i = math.mininteger, r = 0.1, s = "a\0b", b = "a\0b", kind = "blob" })
  t.equal(math.type(row.i), "integer")
  t.equal(db:rows("SELECT ? AS yes, ? AS no, ? AS text, ? AS blob, ? AS none", true, false, "",
                  { blob = "" }, nil), { { yes = 1, no = 0, text = "", blob = "" } })
  t.equal(db:exec "DELETE FROM t", 1)
end)

t.test("a statement that is not one, and values it has no place for, are the script's bugs",
function()
  for _, sql in ipairs { "", "-- a remark", "SELECT 1; SELECT 2" } do
    t.raises("exactly one statement", db.rows, db, sql)
  end
  t.equal(#db:rows "SELECT 1 AS x ; \n", 1)
  t.raises("1 parameters, 0 values", db.rows, db, "SELECT ?")
  t.raises("1 parameters, 2 values", db.exec, db, "SELECT ?", 1, 2)
  for _, bad in ipairs { { print }, { {} }, { { blob = 1 } } } do
    t.raises("blob = string", db.rows, db, "SELECT ?", bad[1])
  end
end)

t.test("an error of SQLite is reported in its words", function()
  for sql, words in pairs { ["SELEKT ?"] = "syntax error", ["SELECT * FROM absent WHERE ?"] =
      "no such table", ["INSERT INTO t (k) VALUES (?)"] = "FOREIGN KEY" } do
    local ok, why, code = db:exec(sql, 7)
    t.equal({ ok, why:find(words) ~= nil, code }, { nil, true, "ESTORE" })
    t.equal(select(3, db:rows(sql, 7)), "ESTORE")
  end
  t.equal(count(), 0)
end)

t.test("a statement that comes again has no values of before", function()
  for n, s in ipairs { "one", false, false } do
    t.equal(db:exec("INSERT INTO t (n, s) VALUES (?, ?)", n, s or nil), 1)
    t.equal(db:last_id(), n)
  end
  t.equal(count "WHERE s IS NULL", 2)
  t.equal(select(3, db:exec("INSERT INTO t (n) VALUES (?)", 1)), "ESTORE")
  for _ = 1, 2 do
    assert(db:exec "BEGIN")
    t.equal(db:exec "DELETE FROM t", 3)
    t.equal(count(), 0)
    assert(db:exec "ROLLBACK")
    t.equal(count(), 3)
  end
end)

t.test("a statement that failed or was read holds no lock", function()
  t.equal(select(3, db:rows("SELECT abs(?) FROM t", math.mininteger)), "ESTORE")
  t.equal(#db:rows "SELECT n FROM t", 3)
  assert(db:exec "ALTER TABLE t ADD COLUMN later INTEGER; DROP TABLE t")
end)

t.test("a file whose folder takes no -shm file is read as it stands", function()
  local odd = folder .. "/a b?c#%41.db"
  local one = assert(core.store(odd))
  assert(one:exec "CREATE TABLE x (n); INSERT INTO x VALUES (7)")
  one:close()
  assert(core.system.mkdir_p(odd .. "-shm"))
  local read <close> = assert(core.store(odd, "read"))
  t.equal(read:rows "SELECT n FROM x", { { n = 7 } })
  t.equal(select(3, read:exec "DELETE FROM x"), "ESTORE")
end)

db:close()
t.test("using a closed store is an error", function()
  t.raises("closed store", db.rows, db, "SELECT 1")
end)
t.finish()
