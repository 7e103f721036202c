"""Windows, joins, unions and OVER: from syntax to vertices."""
