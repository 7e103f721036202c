"""Continuous queries whose keys are shared out among several processes of one machine (`cep.open(..., engines=4)`)."""
