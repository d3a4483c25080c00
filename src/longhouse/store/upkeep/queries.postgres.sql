-- name: columns
-- differs because each database describes itself in its own catalog.
SELECT c.relname AS table_name, a.attname AS column_name,
       CASE UPPER(format_type(a.atttypid, NULL))
           WHEN 'BIGINT' THEN 'INTEGER' WHEN 'BYTEA' THEN 'BLOB'
           WHEN 'DOUBLE PRECISION' THEN 'REAL' ELSE UPPER(format_type(a.atttypid, NULL))
       END AS type,
       COALESCE(array_position(CAST(i.indkey AS SMALLINT[]), a.attnum) + 1, 0) AS pk
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_attribute AS a ON a.attrelid = c.oid
LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisprimary
WHERE n.nspname = current_schema() AND c.relkind = 'r' AND a.attnum > 0
  AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY c.relname, a.attnum

-- name: parents
-- differs because each database describes itself in its own catalog.
SELECT c.relname AS table_name, a.attname AS column_name, p.relname AS parent,
       b.attname AS parent_column
FROM pg_constraint AS k
JOIN pg_class AS c ON c.oid = k.conrelid
JOIN pg_class AS p ON p.oid = k.confrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS u (own, theirs, place)
JOIN pg_attribute AS a ON a.attrelid = k.conrelid AND a.attnum = u.own
JOIN pg_attribute AS b ON b.attrelid = k.confrelid AND b.attnum = u.theirs
WHERE k.contype = 'f' AND n.nspname = current_schema()
ORDER BY c.relname, k.conname, u.place

-- name: damage
-- differs because PostgreSQL has its own checksums, and amcheck for the operator.
SELECT '' AS message WHERE FALSE

-- name: orphans
-- differs because PostgreSQL always enforces foreign keys.
SELECT '' AS table_name, '' AS parent, 0 AS count WHERE FALSE

-- name: unhurried
-- differs because only a server ends transactions that wait for long.
SELECT set_config('idle_in_transaction_session_timeout', '0', true) AS seconds
