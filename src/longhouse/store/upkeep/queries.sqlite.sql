-- name: columns
-- differs because each database describes itself in its own catalog.
-- Every column of every ordinary table; `pk` is its position in the primary key, or 0.
SELECT t.name AS table_name, c.name AS column_name, UPPER(c.type) AS type, c.pk AS pk
FROM pragma_table_list AS t
JOIN pragma_table_xinfo(t.name) AS c
WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\'
  AND c.hidden = 0
ORDER BY t.name, c.cid

-- name: parents
-- differs because each database describes itself in its own catalog.
-- Every foreign key by column.
SELECT t.name AS table_name, f."from" AS column_name, f."table" AS parent, f."to" AS parent_column
FROM pragma_table_list AS t
JOIN pragma_foreign_key_list(t.name) AS f
WHERE t.schema = 'main' AND t.type = 'table'
ORDER BY t.name, f.id, f.seq

-- name: damage
-- differs because only SQLite can check itself: pages, indexes, constraints.
SELECT integrity_check AS message FROM pragma_integrity_check WHERE integrity_check <> 'ok'
LIMIT 20

-- name: orphans
-- differs because PostgreSQL always enforces foreign keys.
SELECT "table" AS table_name, parent, COUNT(*) AS count FROM pragma_foreign_key_check
GROUP BY 1, 2 ORDER BY 1, 2
