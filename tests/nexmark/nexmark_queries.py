"""The queries q0 to q22 of the NEXMark benchmark as they are written for Flink, from SELECT on, and four patterns.

Read with dialect="flink" over nexmark_streams.py.  `count_char` (q14) is a function of the user.
"""

from __future__ import annotations

_PRICES = (("rank1", "price < 10000"), ("rank2", "price >= 10000 and price < 1000000"), ("rank3", "price >= 1000000"))


def _count_by_price(what: str, name: str) -> str:
    """count(...) with and without each filter of prices."""
    counted = [f"count({what}) AS total_{name}"]
    counted += [f"count({what}) filter (where {condition}) AS {rank}_{name}" for rank, condition in _PRICES]
    return ",\n  ".join(counted)


_ALL_COUNTS = ",\n  ".join((
    _count_by_price("*", "bids"),
    _count_by_price("distinct bidder", "bidders"),
    _count_by_price("distinct auction", "auctions"),
))  # fmt: skip

QUERIES: dict[str, str] = {
    "q0": "SELECT auction, bidder, price, dateTime, extra FROM bid;",
    "q1": """
SELECT
  auction,
  bidder,
  0.908 * price as price, -- convert dollar to euro
  dateTime,
  extra
FROM bid;""",
    "q2": "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0;",
    "q3": """
SELECT P.name, P.city, P.state, A.id
FROM auction AS A INNER JOIN person AS P on A.seller = P.id
WHERE A.category = 10 and (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA');""",
    "q4": """
SELECT Q.category, AVG(Q.final)
FROM (
  SELECT MAX(B.price) AS final, A.category
  FROM auction A, bid B
  WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
  GROUP BY A.id, A.category
) Q
GROUP BY Q.category;""",
    "q5": """
SELECT AuctionBids.auction, AuctionBids.num
FROM (
  SELECT auction, count(*) AS num, window_start AS starttime, window_end AS endtime
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end
) AS AuctionBids
JOIN (
  SELECT max(CountBids.num) AS maxn, CountBids.starttime, CountBids.endtime
  FROM (
    SELECT count(*) AS num, window_start AS starttime, window_end AS endtime
    FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
    GROUP BY auction, window_start, window_end
  ) AS CountBids
  GROUP BY CountBids.starttime, CountBids.endtime
) AS MaxBids
ON AuctionBids.starttime = MaxBids.starttime AND AuctionBids.endtime = MaxBids.endtime
  AND AuctionBids.num >= MaxBids.maxn;""",
    "q6": """
SELECT
  Q.seller,
  AVG(Q.final) OVER (PARTITION BY Q.seller ORDER BY Q.dateTime ROWS BETWEEN 10 PRECEDING AND CURRENT ROW) AS avg_final
FROM (
  SELECT id, seller, price AS final, dateTime
  FROM (
    SELECT A.id, A.seller, B.price, B.dateTime,
      ROW_NUMBER() OVER (PARTITION BY A.id, A.seller ORDER BY B.price DESC) AS rownum
    FROM auction AS A, bid AS B
    WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
  )
  WHERE rownum <= 1
) AS Q;""",
    "q7": """
SELECT B.auction, B.price, B.bidder, B.dateTime, B.extra
from bid B
JOIN (
  SELECT MAX(price) AS maxprice, window_end as dateTime
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
) B1
ON B.price = B1.maxprice
WHERE B.dateTime BETWEEN B1.dateTime - INTERVAL '10' SECOND AND B1.dateTime;""",
    "q8": """
SELECT P.id, P.name, P.starttime
FROM (
  SELECT id, name, window_start AS starttime, window_end AS endtime
  FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
  GROUP BY id, name, window_start, window_end
) P
JOIN (
  SELECT seller, window_start AS starttime, window_end AS endtime
  FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
  GROUP BY seller, window_start, window_end
) A
ON P.id = A.seller AND P.starttime = A.starttime AND P.endtime = A.endtime;""",
    "q9": """
SELECT
  id, itemName, description, initialBid, reserve, dateTime, expires, seller, category, extra,
  auction, bidder, price, bid_dateTime, bid_extra
FROM (
  SELECT A.*, B.auction, B.bidder, B.price, B.dateTime AS bid_dateTime, B.extra AS bid_extra,
    ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.dateTime ASC) AS rownum
  FROM auction A, bid B
  WHERE A.id = B.auction AND B.dateTime BETWEEN A.dateTime AND A.expires
)
WHERE rownum <= 1;""",
    "q10": """
SELECT auction, bidder, price, dateTime, extra, DATE_FORMAT(dateTime, 'yyyy-MM-dd'), DATE_FORMAT(dateTime, 'HH:mm')
FROM bid;""",
    "q11": """
SELECT
  B.bidder,
  count(*) as bid_count,
  SESSION_START(B.dateTime, INTERVAL '10' SECOND) as starttime,
  SESSION_END(B.dateTime, INTERVAL '10' SECOND) as endtime
FROM bid B
GROUP BY B.bidder, SESSION(B.dateTime, INTERVAL '10' SECOND);""",
    "q12": """
SELECT
  B.bidder,
  count(*) as bid_count,
  TUMBLE_START(B.p_time, INTERVAL '10' SECOND) as starttime,
  TUMBLE_END(B.p_time, INTERVAL '10' SECOND) as endtime
FROM (SELECT *, PROCTIME() as p_time FROM bid) B
GROUP BY B.bidder, TUMBLE(B.p_time, INTERVAL '10' SECOND);""",
    "q13": """
SELECT B.auction, B.bidder, B.price, B.dateTime, S.`value`
FROM (SELECT *, PROCTIME() as p_time FROM bid) B
JOIN side_input FOR SYSTEM_TIME AS OF B.p_time AS S
ON mod(B.auction, 10000) = S.key;""",
    "q14": """
SELECT
  auction,
  bidder,
  0.908 * price as price,
  CASE
    WHEN HOUR(dateTime) >= 8 AND HOUR(dateTime) <= 18 THEN 'dayTime'
    WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'nightTime'
    ELSE 'otherTime'
  END AS bidTimeType,
  dateTime,
  extra,
  count_char(extra, 'c') AS c_counts
FROM bid
WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;""",
    "q15": f"""
SELECT
  DATE_FORMAT(dateTime, 'yyyy-MM-dd') as `day`,
  {_ALL_COUNTS}
FROM bid
GROUP BY DATE_FORMAT(dateTime, 'yyyy-MM-dd');""",
    "q16": f"""
SELECT
  channel,
  DATE_FORMAT(dateTime, 'yyyy-MM-dd') as `day`,
  max(DATE_FORMAT(dateTime, 'HH:mm')) as `minute`,
  {_ALL_COUNTS}
FROM bid
GROUP BY channel, DATE_FORMAT(dateTime, 'yyyy-MM-dd');""",
    "q17": f"""
SELECT
  auction,
  DATE_FORMAT(dateTime, 'yyyy-MM-dd') as `day`,
  {_count_by_price("*", "bids")},
  min(price) AS min_price,
  max(price) AS max_price,
  avg(price) AS avg_price,
  sum(price) AS sum_price
FROM bid
GROUP BY auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd');""",
    "q18": """
SELECT auction, bidder, price, channel, url, dateTime, extra
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) AS rank_number
  FROM bid
)
WHERE rank_number <= 1;""",
    "q19": """
SELECT * FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid
)
WHERE rank_number <= 10;""",
    "q20": """
SELECT
  auction, bidder, price, channel, url, B.dateTime, B.extra,
  itemName, description, initialBid, reserve, A.dateTime, expires, seller, category, A.extra
FROM bid AS B INNER JOIN auction AS A on B.auction = A.id
WHERE A.category = 10;""",
    "q21": """
SELECT
  auction, bidder, price, channel,
  CASE
    WHEN lower(channel) = 'apple' THEN '0'
    WHEN lower(channel) = 'google' THEN '1'
    WHEN lower(channel) = 'facebook' THEN '2'
    WHEN lower(channel) = 'baidu' THEN '3'
    ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)
  END AS channel_id
FROM bid
WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) is not null
  or lower(channel) in ('apple', 'google', 'facebook', 'baidu');""",
    "q22": """
SELECT
  auction, bidder, price, channel,
  SPLIT_INDEX(url, '/', 3) as dir1,
  SPLIT_INDEX(url, '/', 4) as dir2,
  SPLIT_INDEX(url, '/', 5) as dir3
FROM bid;""",
}  # fmt: skip

LOW_MEAN = """
SELECT auction, bidder, began, ended, mean
FROM bid
MATCH_RECOGNIZE (
  PARTITION BY auction, bidder
  ORDER BY dateTime
  MEASURES
    FIRST(A.`dateTime`) AS began,
    LAST(A.`dateTime`) AS ended,
    AVG(A.price) AS mean
  ONE ROW PER MATCH
  AFTER MATCH SKIP {skip}
  PATTERN (A+ B)
  DEFINE A AS AVG(A.price) < 10000
);"""

# cep_q0 to cep_q3: those of NEXMark's own set of patterns
PATTERNS: dict[str, str] = {
    "rising_bids": """
SELECT *
FROM bid
MATCH_RECOGNIZE (
  PARTITION BY auction
  ORDER BY dateTime
  MEASURES
    FIRST(A.price) AS first_price,
    LAST(B.price) AS last_price,
    COUNT(B.price) AS rises,
    MATCH_ROWTIME() AS at_time
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B+ C) WITHIN INTERVAL '20' SECOND
  DEFINE
    B AS B.price > LAST(B.price, 1) OR (LAST(B.price, 1) IS NULL AND B.price > A.price),
    C AS C.price < LAST(B.price)
);""",
    "fall_and_recovery": """
SELECT T.auction, T.top_price, T.bottom_price, T.end_time
FROM bid
MATCH_RECOGNIZE (
  PARTITION BY auction
  ORDER BY dateTime
  MEASURES
    START_ROW.price AS top_price,
    LAST(PRICE_DOWN.price) AS bottom_price,
    LAST(PRICE_UP.dateTime) AS end_time
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST PRICE_UP
  PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
  DEFINE
    PRICE_DOWN AS
      (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price) OR
      PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
    PRICE_UP AS PRICE_UP.price > LAST(PRICE_DOWN.price, 1)
) T;""",
    "late_first_bid": """
SELECT *
FROM (
  SELECT id AS auction, 'auction' AS kind, dateTime FROM auction
  UNION ALL
  SELECT auction, 'bid' AS kind, dateTime FROM bid
)
MATCH_RECOGNIZE (
  PARTITION BY auction
  ORDER BY dateTime
  MEASURES A.dateTime AS opened, B.dateTime AS first_bid
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B)
  DEFINE
    A AS A.kind = 'auction',
    B AS B.kind = 'bid' AND B.dateTime > A.dateTime + INTERVAL '1' SECOND
);""",
    "quick_bids": """
SELECT *
FROM bid
MATCH_RECOGNIZE (
  PARTITION BY bidder
  ORDER BY dateTime
  MEASURES A.dateTime AS starts, C.dateTime AS ends, A.price + B.price + C.price AS total
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A B C) WITHIN INTERVAL '2' SECOND
  DEFINE B AS B.auction <> A.auction
);""",
    "cep_q0": """
SELECT auction, bidder, began, lowest, ended
FROM bid
MATCH_RECOGNIZE (
  PARTITION BY auction, bidder
  ORDER BY dateTime
  MEASURES
    FIRST_BID.dateTime AS began,
    LAST(FALLING.dateTime) AS lowest,
    LAST(RISING.dateTime) AS ended
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST RISING
  PATTERN (FIRST_BID FALLING+ RISING)
  DEFINE
    FALLING AS
      FALLING.price < LAST(FALLING.price, 1) OR
      (LAST(FALLING.price, 1) IS NULL AND FALLING.price < FIRST_BID.price),
    RISING AS RISING.price > LAST(FALLING.price, 1)
);""",
    "cep_q1": LOW_MEAN.format(skip="PAST LAST ROW"),
    "cep_q2": LOW_MEAN.format(skip="TO NEXT ROW"),
    "cep_q3": """
SELECT auction, bidder, fell_at, fell_by
FROM bid
MATCH_RECOGNIZE (
  PARTITION BY auction, bidder
  ORDER BY dateTime
  MEASURES C.dateTime AS fell_at, A.price - C.price AS fell_by
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A B* C) WITHIN INTERVAL '5' SECOND
  DEFINE
    B AS B.price > A.price - 50,
    C AS C.price < A.price - 50
);""",
}
