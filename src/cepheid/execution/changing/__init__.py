"""Rows that come and go: what users say of them, who they are, and engines that put their answers right."""
