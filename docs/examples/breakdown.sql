SELECT bus, ts, x, y, delay_before, delay_after
FROM buses MATCH_RECOGNIZE (
  PARTITION BY bus ORDER BY ts
  MEASURES LAST(up.delay) AS delay_before, jump.delay AS delay_after, jump.ts AS ts, jump.x AS x, jump.y AS y
  ONE ROW PER MATCH
  PATTERN (up{5} jump) WITHIN INTERVAL '3' MINUTE
  DEFINE up AS up.delay > PREV(up.delay),
         jump AS jump.delay - PREV(jump.delay) > 120)
