"""Between the classes of this package and those of agentsdk: everything that runs goes through here."""
