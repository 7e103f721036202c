"""Make a query graph better without changing its rows: rules in rules/, their order in rule_order.py."""
