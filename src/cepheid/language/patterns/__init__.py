"""MATCH_RECOGNIZE, row patterns in WINDOW, and SEQ: from syntax to vertices."""
