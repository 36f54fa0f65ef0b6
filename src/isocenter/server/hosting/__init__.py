"""How the site starts, is kept running, and is looked after."""
